"""When senders are woken: for something to do, and not more often than that."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.db.models import F

from notifications.event_webhooks import waking
from notifications.models import EventSubscription
from tenants.models import Tenant
from tests.notifications.event_webhooks.receivers import fresh, subscribe
from tests.support.feed_rows import late_event, write

pytestmark = pytest.mark.django_db(transaction=True)
URL = "https://events.example.com/x"


def change(**parts: object) -> None:
    EventSubscription.objects.update(woken_at=None, **parts)


def test_a_subscription_wakes_a_sender_once_for_an_event(woken_senders: list[bool]) -> None:
    subscription = subscribe(URL)

    waking.wake_due_subscriptions()
    assert woken_senders == []
    write(subscription.tenant_id, "task.changed")
    waking.wake_due_subscriptions()
    waking.wake_due_subscriptions()
    assert woken_senders == [False]
    # A message may be lost.
    EventSubscription.objects.update(woken_at=F("woken_at") - timedelta(seconds=31))
    waking.wake_due_subscriptions()
    assert woken_senders == [False, False]


def test_an_event_that_may_still_be_preceded_wakes_none(woken_senders: list[bool]) -> None:
    subscription = subscribe(URL)
    with late_event(subscription.tenant_id, "task.changed") as beside:
        write(subscription.tenant_id, "task.changed")
        waking.wake_due_subscriptions()
        assert woken_senders == []
        beside.commit()

    waking.wake_due_subscriptions()
    assert woken_senders == [False]


def test_nothing_is_woken_for_what_is_paused_claimed_waiting_or_suspended(
    woken_senders: list[bool],
) -> None:
    subscription = subscribe(URL)
    write(subscription.tenant_id, "task.changed")
    ahead = fresh(subscription).next_attempt_at + timedelta(minutes=5)
    due = {"next_attempt_at": subscription.next_attempt_at, "claimed_until": None}

    change(next_attempt_at=ahead)
    waking.wake_due_subscriptions()
    change(**{**due, "claimed_until": ahead})
    waking.wake_due_subscriptions()
    change(**due, status="PAUSED", paused_reason="requested")
    waking.wake_due_subscriptions()
    change(status="ACTIVE", paused_reason="")
    Tenant.objects.update(suspended_at=ahead)
    waking.wake_due_subscriptions()
    assert woken_senders == []

    Tenant.objects.update(suspended_at=None)
    waking.wake_due_subscriptions()
    assert woken_senders == [False]


def test_events_of_another_tenant_wake_none(woken_senders: list[bool]) -> None:
    subscribe(URL)
    other = subscribe(URL, "Beta", types=["run.changed"])
    EventSubscription.objects.filter(pk=other.pk).delete()
    write(other.tenant_id, "task.changed")

    waking.wake_due_subscriptions()

    assert woken_senders == []


def test_a_place_that_grows_old_and_a_failure_wake_their_own_senders(
    woken_senders: list[bool],
) -> None:
    subscribe(URL)

    change(read_at=F("read_at") - timedelta(hours=2))
    waking.wake_due_subscriptions()
    assert woken_senders == [False]
    change(read_at=F("read_at") + timedelta(hours=2), failing_since=F("created_at"))
    waking.wake_due_subscriptions()
    assert woken_senders == [False, True]


@pytest.mark.logs("event_webhooks.held_back")
def test_without_a_broker_rows_stay_due(monkeypatch: pytest.MonkeyPatch) -> None:
    subscription = subscribe(URL)
    write(subscription.tenant_id, "task.changed")

    def refuse(*, failing: bool) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(waking, "wake_event_sender", refuse)

    assert waking.wake_due_subscriptions() == 5.0
    assert fresh(subscription).woken_at is not None
