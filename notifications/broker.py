"""Wakes the system worker for a delivery; a lost wake-up only delays, because the row remains."""

from __future__ import annotations

from uuid import UUID

from executions.broker import publish_system_job

#: The Celery task that sends one delivery.
SEND = "notifications.send"
#: The Celery task that asks an address to confirm that it is a member's.
CONFIRM = "notifications.confirm"
#: The Celery task that invites an address to a tenant.
INVITE = "notifications.invite"

#: The Celery task that sends the events of subscriptions.
SEND_EVENTS = "notifications.send_events"


def wake_sender(delivery_id: UUID) -> None:
    """Publish the wake-up; raise redis.ConnectionError at once when the broker is away."""
    publish_system_job(SEND, str(delivery_id))


def wake_confirmation(member_id: int) -> None:
    """Publish the wake-up to ask a member's new address; raise as ``wake_sender`` does."""
    publish_system_job(CONFIRM, str(member_id))


def wake_invitation(invitation_id: UUID) -> None:
    """Publish the wake-up to send an invitation; raise as ``wake_sender`` does."""
    publish_system_job(INVITE, str(invitation_id))


def wake_event_sender(*, failing: bool) -> None:
    """Publish the wake-up to send events, to receivers that failed or to the others; as above."""
    publish_system_job(SEND_EVENTS, "failing" if failing else "healthy")
