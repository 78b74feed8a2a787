"""No real broker, and a push key."""

from __future__ import annotations

from tests.notifications.conftest import vapid, woken  # noqa: F401 - fixtures
