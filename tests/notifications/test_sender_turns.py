"""A channel that does not answer keeps neither mails nor other channels waiting."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
import redis

from notifications import sender_turns
from notifications.claims import claim_delivery, failed, sent
from notifications.models import AlertChannel, Delivery
from notifications.notices import plan_due_notices
from notifications.sender_turns import one_of_each_channel, turn_of, wake_next
from notifications.services.deliveries import send_delivery, wake_due_deliveries
from notifications.transports.errors import TransportError
from tests.factories import make_tenant
from tests.notifications.cast import make_member, pass_time
from tests.support.alert_channels import allow_loopback, make_channel
from tests.support.alerts import make_alert
from tests.support.http_receiver import http_receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """Return the deliveries for which a sender was woken."""
    found: list[UUID] = []
    monkeypatch.setattr(sender_turns, "wake_sender", found.append)
    monkeypatch.setattr("notifications.services.deliveries.wake_sender", found.append)
    return found


def owed(count: int, url: str = "https://hooks.example.com/x") -> list[Delivery]:
    """Return that many deliveries to one channel, oldest first."""
    tenant = make_tenant("acme")
    make_channel(tenant, url=url)
    for number in range(count):
        make_alert(tenant, number)
    plan_due_notices()
    return list(Delivery.objects.filter(alert_channel__isnull=False).order_by("id"))


def test_a_channel_gets_one_message_at_a_time() -> None:
    first, second = owed(2)
    claim = claim_delivery(first.pk)
    assert claim is not None

    assert claim_delivery(second.pk) is None
    sent(claim, "")
    assert claim_delivery(second.pk) is not None


def test_the_claim_of_a_dead_sender_keeps_the_channel_for_two_minutes() -> None:
    first, second = owed(2)
    assert claim_delivery(first.pk) is not None

    pass_time(seconds=121)

    assert claim_delivery(second.pk) is not None


def test_after_a_failure_all_that_is_owed_to_the_channel_waits_and_the_failed_goes_behind() -> None:
    first, second = owed(2)
    claim = claim_delivery(first.pk)
    assert claim is not None

    failed(claim, TransportError("no answer"))

    assert claim_delivery(second.pk) is None
    behind, waiting = (Delivery.objects.get(pk=one.pk).next_attempt_at for one in (first, second))
    assert behind is not None
    assert waiting is not None
    assert (behind - waiting).total_seconds() == 1


def test_a_channel_that_goes_on_failing_is_tried_ever_more_seldom() -> None:
    first, second = owed(2)
    AlertChannel.objects.update(failed_at=first.created_at)
    Delivery.objects.filter(pk=first.pk).update(attempt_count=12)
    claim = claim_delivery(second.pk)
    assert claim is not None

    failed(claim, TransportError("no answer"))

    second.refresh_from_db()
    assert second.next_attempt_at is not None
    assert (second.next_attempt_at - second.created_at).total_seconds() > 400


@pytest.mark.parametrize(("has_failed", "threads"), [(False, "_SENDING"), (True, "_TRYING_AGAIN")])
def test_a_channel_without_a_free_thread_is_put_off_and_members_are_not(
    has_failed: bool, threads: str, woken: list[UUID]
) -> None:
    [delivery] = owed(1)
    mail = Delivery.objects.create(
        alert=delivery.alert,
        membership=make_member(delivery.alert.tenant),
        channel="email",
        notice_number=1,
        next_attempt_at=delivery.created_at,
    )
    Delivery.objects.update(woken_at=delivery.created_at)
    if has_failed:
        AlertChannel.objects.update(failed_at=delivery.created_at)
    room = getattr(sender_turns, threads)
    taken = 0
    while room.acquire(blocking=False):
        taken += 1
    try:
        assert send_delivery(delivery.pk) is None
        with turn_of(mail.pk) as turn:
            assert turn.granted
    finally:
        for _ in range(taken):
            room.release()

    before = delivery.next_attempt_at
    delivery.refresh_from_db()
    assert before is not None
    assert delivery.next_attempt_at is not None
    assert (delivery.status, delivery.woken_at) == ("PENDING", None)
    assert delivery.next_attempt_at > before
    assert woken == []
    assert taken == (1 if has_failed else 2)


def test_senders_leave_a_thread_of_a_system_worker_free() -> None:
    from launcher.management.commands.run_worker import _SYSTEM_THREADS

    taken = sender_turns.THREADS + sender_turns.THREADS_AFTER_FAILURE
    assert taken < _SYSTEM_THREADS


def test_who_has_sent_wakes_the_next(monkeypatch: pytest.MonkeyPatch, woken: list[UUID]) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        first, second = owed(2, receiver.url)

        assert send_delivery(first.pk) == "SENT"
        assert woken == [second.pk]
        assert send_delivery(second.pk) == "SENT"

    assert woken == [second.pk]


def test_of_a_channel_one_delivery_is_woken_and_the_others_follow(woken: list[UUID]) -> None:
    first, second, third = owed(3)

    wake_due_deliveries()

    assert woken == [first.pk]
    assert not Delivery.objects.filter(woken_at__isnull=True).exists()
    member, channel = uuid4(), uuid4()
    rows = [(second.pk, channel), (member, None), (third.pk, channel), (first.pk, None)]
    assert one_of_each_channel(rows) == [second.pk, member, first.pk]


def test_without_a_broker_the_next_stays_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(delivery_id: UUID) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(sender_turns, "wake_sender", away)
    [delivery] = owed(1)

    assert delivery.alert_channel_id is not None
    wake_next(delivery.alert_channel_id)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.woken_at) == ("PENDING", None)
