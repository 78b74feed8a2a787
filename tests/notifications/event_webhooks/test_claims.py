"""Claims of subscriptions: one sender at a time, growing waits."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from notifications.event_webhooks import claims
from notifications.event_webhooks.claims import claim_due, note_failed, note_taken, place_of
from notifications.models import EventSubscription
from shared.ids import new_id
from tenants.models import Tenant
from tests.notifications.event_webhooks.receivers import fresh, pass_time, subscribe

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(*, failing: bool = False) -> EventSubscription:
    EventSubscription.objects.update(woken_at=database_now())
    [found] = claim_due(failing=failing)
    return found


def test_a_claim_is_taken_once_and_again_when_it_has_expired() -> None:
    subscribe("https://events.example.com/x")

    first = claimed()
    EventSubscription.objects.update(woken_at=database_now())
    assert claim_due(failing=False) == []
    pass_time(seconds=61)
    second = claimed()

    assert first.claim_id != second.claim_id
    assert not note_taken(first, place_of(first), 200, more=False)
    assert note_taken(second, place_of(second), 200, more=True)
    assert fresh(second).woken_at is not None


def test_waits_grow_and_a_receiver_that_asks_for_more_gets_it() -> None:
    subscribe("https://events.example.com/x")
    waits = []
    for failing, retry_after in ((False, None), (True, None), (True, 600.0)):
        claim = claimed(failing=failing)
        before = database_now()
        assert note_failed(claim, place_of(claim), "HTTP 503", status=503, retry_after=retry_after)
        waits.append((fresh(claim).next_attempt_at - before).total_seconds())
        pass_time(minutes=20)

    assert 2.5 <= waits[0] < 6
    assert 5 <= waits[1] < 11
    assert waits[2] >= 600


def test_failures_begin_anew_when_an_event_was_taken_between() -> None:
    subscribe("https://events.example.com/x")
    claim = claimed()
    note_failed(claim, place_of(claim), "HTTP 503", status=503)
    pass_time(days=2)
    claim = claimed(failing=True)

    note_failed(claim, place_of(claim), "HTTP 503", status=503, taken_before=True)

    row = fresh(claim)
    assert row.attempt_count == 1
    assert row.failing_since is not None
    assert row.failing_since > database_now() - timedelta(minutes=5)


def test_a_removed_subscription_is_recorded_nowhere() -> None:
    subscribe("https://events.example.com/x")
    claim = claimed()
    EventSubscription.objects.all().delete()

    assert not note_failed(claim, place_of(claim), "HTTP 503", status=503)
    assert not EventSubscription.objects.filter(claim_id=new_id()).exists()


def test_the_receiver_served_longest_ago_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_AT_ONCE", 1)
    rows = [subscribe("https://events.example.com/x", name) for name in ("Alpha", "Beta")]
    EventSubscription.objects.update(woken_at=database_now())

    served = []
    for _ in range(4):
        [claim] = claim_due(failing=False)
        note_taken(claim, place_of(claim), 200, more=True)
        served.append(claim.pk)

    assert served == [rows[0].pk, rows[1].pk] * 2


def test_what_a_suspended_tenant_had_waiting_is_not_claimed() -> None:
    row = subscribe("https://events.example.com/x")
    claim = claimed()
    note_taken(claim, place_of(claim), 200, more=True)
    Tenant.objects.filter(pk=row.tenant_id).update(suspended_at=database_now())

    assert claim_due(failing=False) == []

    Tenant.objects.update(suspended_at=None)
    assert [one.pk for one in claim_due(failing=False)] == [row.pk]
