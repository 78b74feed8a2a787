"""Wakes the system worker for a delivery; the row is the truth, so a lost message only delays."""

from __future__ import annotations

from uuid import UUID

from executions.broker import publish_system_job

#: The Celery task that sends one delivery.
SEND = "notifications.send"


def wake_sender(delivery_id: UUID) -> None:
    """Publish the wake-up; raise redis.ConnectionError at once when the broker is away."""
    publish_system_job(SEND, str(delivery_id))
