"""The Celery functions of notifications, run by the system worker: doors to the services."""

from __future__ import annotations

from uuid import UUID

import redis
from celery import shared_task
from django.db import DatabaseError

from notifications.broker import CONFIRM, INVITE, SEND, SEND_EVENTS
from notifications.event_webhooks.sending import send_due_events
from notifications.services.addresses import send_confirmation
from notifications.services.deliveries import send_delivery
from notifications.services.invitations import send_invitation
from notifications.transports.errors import TransportError


@shared_task(
    name=SEND,
    autoretry_for=(DatabaseError, redis.RedisError),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=5,
    ignore_result=True,
)
def send(delivery_id: str) -> None:
    """Send one delivery; Celery retries only failures of our own servers, rows retry messages."""
    send_delivery(UUID(delivery_id))


@shared_task(
    name=CONFIRM,
    autoretry_for=(DatabaseError, redis.RedisError, TransportError),
    retry_backoff=5,
    retry_jitter=True,
    max_retries=8,
    ignore_result=True,
)
def confirm(member_id: str) -> None:
    """Ask a member's new address to confirm; retry while the mail server cannot be reached."""
    send_confirmation(int(member_id))


@shared_task(
    name=INVITE,
    autoretry_for=(DatabaseError, redis.RedisError, TransportError),
    retry_backoff=5,
    retry_jitter=True,
    max_retries=8,
    ignore_result=True,
)
def invite(invitation_id: str) -> None:
    """Send an invitation; retry while the mail server cannot be reached."""
    send_invitation(UUID(invitation_id))


@shared_task(
    name=SEND_EVENTS,
    autoretry_for=(DatabaseError, redis.RedisError),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=2,
    ignore_result=True,
)
def send_events(kind: str) -> None:
    """Send the events of subscriptions that are due; those that failed wait for no healthy one."""
    send_due_events(failing=kind == "failing")
