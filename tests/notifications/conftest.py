"""What tests of alerts share: no real broker, and a push key."""

from __future__ import annotations

import pytest
from django.conf import settings

from notifications.services import deliveries
from tests.support.loops import doors_of_the_loops  # noqa: F401 - the role of each call of the loops


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the deliveries that senders were woken for, in place of the broker's queue."""
    found: list[object] = []
    monkeypatch.setattr(deliveries, "wake_sender", found.append)
    monkeypatch.setattr(deliveries, "_next_prune", float("inf"))
    return found


@pytest.fixture
def vapid(monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the installation a push key."""
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "A" * 42 + "E")
    return settings.VAPID_PRIVATE_KEY
