"""The Celery functions of notifications, run by the system worker: doors to the services."""

from __future__ import annotations

from uuid import UUID

import redis
from celery import shared_task
from django.db import DatabaseError

from notifications.broker import SEND
from notifications.services.deliveries import send_delivery


@shared_task(
    name=SEND,
    autoretry_for=(DatabaseError, redis.RedisError),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=5,
    ignore_result=True,
)
def send(delivery_id: str) -> None:
    """Send one delivery; retries here are for our own servers, those of messages are rows."""
    send_delivery(UUID(delivery_id))
