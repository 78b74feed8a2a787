"""Subscriptions to receivers of a test."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db.models import F

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from notifications.event_webhooks import sending, waking
from notifications.models import EventSubscription
from notifications.services.event_subscriptions import create_subscription
from shared.conf import conf
from tests.factories import ACTOR, make_tenant
from tests.support.http_receiver import HttpReceiver

TYPES = ["execution.queued", "execution.failed", "task.changed"]


def allow_loopback(monkeypatch: Any) -> None:
    """Let webhooks of a test go to this machine."""
    knobs = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)


def closed_url() -> str:
    """Return a URL of this machine at which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}/hook"


def subscribe(url: str, name: str = "Alpha", **parts: Any) -> EventSubscription:
    """Return a subscription of a new tenant, which begins with events from now on."""
    ledger.ensure_days_ahead(database_now())
    return create_subscription(
        make_tenant(name).id, url=url, actor=ACTOR, **{"types": TYPES, **parts}
    )


def fresh(subscription: EventSubscription) -> EventSubscription:
    """Return the row as it is now."""
    return EventSubscription.objects.get(pk=subscription.pk)


def send(*, failing: bool = False) -> int:
    """Do what the recorder and the system worker do when there is something to send."""
    waking.wake_due_subscriptions()
    return sending.send_due_events(failing=failing)


def pass_time(**span: float) -> None:
    """Let the given time pass for the rows of subscriptions."""
    moved = timedelta(**span)
    EventSubscription.objects.update(next_attempt_at=F("next_attempt_at") - moved)
    EventSubscription.objects.filter(failing_since__isnull=False).update(
        failing_since=F("failing_since") - moved
    )
    EventSubscription.objects.filter(claimed_until__isnull=False).update(
        claimed_until=F("claimed_until") - moved
    )


def received(receiver: HttpReceiver) -> list[UUID]:
    """Return the subjects of the events that a receiver got, in order."""
    return [UUID(orjson.loads(one.body)["subject_id"]) for one in receiver.requests]


def ids(receiver: HttpReceiver) -> list[str]:
    """Return the ids of the webhooks that a receiver got, in order."""
    return [one.headers["webhook-id"] for one in receiver.requests]
