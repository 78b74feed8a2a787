"""What tests of event webhooks share: a receiver that may be called, and no real broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from notifications.event_webhooks import sending, waking
from tests.notifications.event_webhooks.receivers import allow_loopback
from tests.support.http_receiver import HttpReceiver, http_receiver


@pytest.fixture(autouse=True)
def woken_senders(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return of each wake-up whether it is for receivers that have failed."""
    found: list[bool] = []

    def wake(*, failing: bool) -> None:
        found.append(failing)

    monkeypatch.setattr(waking, "wake_event_sender", wake)
    monkeypatch.setattr(sending, "wake_event_sender", wake)
    return found


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpReceiver]:
    allow_loopback(monkeypatch)
    with http_receiver() as running:
        yield running
