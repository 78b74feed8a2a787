"""One sender at a time, and growing waits."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.ledger import totals
from executions.loop.clocks import database_now
from notifications.alerter import Alerter
from notifications.claims import claim_delivery, failed, sent
from notifications.models import Delivery
from notifications.transports.errors import TransportError
from shared.ids import new_id
from tests.factories import make_tenant
from tests.notifications.cast import begin, fail, make_member, pass_time

pytestmark = pytest.mark.django_db(transaction=True)


def owed() -> Delivery:
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant)
    Alerter().run_once()
    pass_time(seconds=1)
    Alerter().run_once()
    return Delivery.objects.get(channel="email")


def test_of_two_claims_at_once_one_gets_the_delivery() -> None:
    delivery = owed()

    first, second = claim_delivery(delivery.id), claim_delivery(delivery.id)

    assert first is not None
    assert second is None


def test_what_does_not_exist_cannot_be_claimed() -> None:
    assert claim_delivery(new_id()) is None


def test_waits_grow_and_a_server_that_asks_for_more_gets_it() -> None:
    delivery = owed()
    waits = []
    for retry_after in (None, None, 600.0):
        claim = claim_delivery(delivery.id)
        assert claim is not None
        before = database_now()
        failed(claim, TransportError("away", retry_after=retry_after))
        after = database_now()
        delivery.refresh_from_db()
        assert delivery.next_attempt_at is not None
        waits.append((delivery.next_attempt_at - before, delivery.next_attempt_at - after))
        pass_time(minutes=20)

    for (longest, shortest), seconds in zip(waits[:2], (5, 10), strict=True):
        assert longest >= timedelta(seconds=seconds / 2)
        assert shortest <= timedelta(seconds=seconds)
    assert waits[2][0] >= timedelta(minutes=10)


def test_a_delivery_that_ended_is_counted_once_by_channel_and_result() -> None:
    delivery = owed()
    claim = claim_delivery(delivery.id)
    assert claim is not None

    failed(claim, TransportError("away"))
    assert "deliveries/email/failed" not in totals.read()
    pass_time(minutes=20)
    again = claim_delivery(delivery.id)
    assert again is not None
    sent(again, "")
    sent(again, "")
    failed(again, TransportError("gone", permanent=True))

    assert totals.read()["deliveries/email/sent"] == 1
    assert "deliveries/email/failed" not in totals.read()
