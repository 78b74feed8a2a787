"""The standing cast of these tests."""

from __future__ import annotations

from tests.support.cast import client  # noqa: F401 - fixtures
