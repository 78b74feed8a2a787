"""Wakes the system worker for subscriptions with something to send: a stage of the recorder.

A lost wake-up only delays, because the row remains marked as due.
"""

from __future__ import annotations

import logging

import redis

from notifications.broker import wake_event_sender
from shared.sql import rows

log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_WITHOUT_BROKER_SECONDS = 5.0


def wake_due_subscriptions() -> float:
    """Wake the senders that have something to do; return the seconds until the next pass."""
    found = {failing for (failing,) in rows("event_webhooks/wake")}
    try:
        for failing in sorted(found):
            wake_event_sender(failing=failing)
    except redis.ConnectionError as error:
        log.warning("event_webhooks.held_back", extra={"reason": str(error)})
        return _WITHOUT_BROKER_SECONDS
    return _LOOK_SECONDS
