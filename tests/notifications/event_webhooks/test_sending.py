"""Events reach their receiver in order and at least once, whatever fails."""

from __future__ import annotations

import threading

import orjson
import pytest
from django.db import OperationalError
from standardwebhooks.webhooks import Webhook

from events.models import AuditEntry
from notifications.event_webhooks import sending
from notifications.event_webhooks.claims import claim_due
from notifications.models import EventSubscription
from notifications.services.event_subscriptions import change_subscription, redrive_subscription
from tenants.services import reveal_signing_secrets
from tests.factories import ACTOR, make_task
from tests.notifications.event_webhooks.receivers import (
    closed_url,
    fresh,
    ids,
    pass_time,
    received,
    send,
    subscribe,
)
from tests.support.feed_rows import write, write_batch
from tests.support.http_receiver import HttpReceiver
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db(transaction=True)


def test_events_are_sent_signed_and_in_order(receiver: HttpReceiver) -> None:
    subscription = subscribe(receiver.url)
    tenant_id = subscription.tenant_id
    wanted = [*write_batch(tenant_id, 3), *write(tenant_id, "execution.failed", "task.changed")]
    write(tenant_id, "run.changed")

    assert send() == 5

    assert received(receiver) == wanted
    assert len(set(ids(receiver))) == 5
    [secret] = reveal_signing_secrets(tenant_id, actor=ACTOR)
    for one in receiver.requests:
        Webhook(secret.secret).verify(one.body, one.headers)
        assert orjson.loads(one.body)["id"] == one.headers["webhook-id"]
        assert one.headers["x-scheduler-subscription-id"] == str(subscription.pk)
    row = fresh(subscription)
    assert (row.last_status, row.last_error, row.claim_id) == (200, "", None)
    assert send() == 0


def test_more_than_a_page_is_sent_in_one_job(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_PAGE", 2)
    subscription = subscribe(receiver.url)
    wanted = write_batch(subscription.tenant_id, 5)

    assert send() == 5
    assert received(receiver) == wanted


@recounts("event_webhook.attempt_count")
@pytest.mark.logs("event_webhook.failed")
def test_a_failed_event_is_tried_again_before_the_next_one(receiver: HttpReceiver) -> None:
    subscription = subscribe(receiver.url)
    first, second = write(subscription.tenant_id, "execution.failed", "task.changed")
    receiver.status = 503

    assert send() == 0
    row = fresh(subscription)
    assert (row.attempt_count, row.last_status, row.last_error) == (1, 503, "HTTP 503")
    assert send(failing=True) == 0, "it waits"
    receiver.status = 202
    pass_time(minutes=1)
    assert send() == 0, "a receiver that failed is none of the healthy ones"
    assert send(failing=True) == 2

    assert received(receiver) == [first, first, second]
    assert ids(receiver)[0] == ids(receiver)[1]
    row = fresh(subscription)
    assert (row.attempt_count, row.failing_since, row.last_error) == (0, None, "")


def test_a_receiver_that_does_not_answer_keeps_no_other_waiting(receiver: HttpReceiver) -> None:
    dead = subscribe(closed_url())
    alive = subscribe(receiver.url, "Beta")
    write(dead.tenant_id, "task.changed")
    [subject] = write(alive.tenant_id, "task.changed")

    assert send() == 1

    assert received(receiver) == [subject]
    assert fresh(dead).last_error.startswith("connection_refused")


def test_a_sender_that_dies_before_it_records_lets_the_same_ids_come_again(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscription = subscribe(receiver.url)
    wanted = write_batch(subscription.tenant_id, 2)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sending, "_record", die)
        with pytest.raises(KeyboardInterrupt):
            send()
    assert send() == 0, "the claim holds"
    pass_time(minutes=2)
    assert send() == 2

    assert received(receiver) == wanted * 2
    assert ids(receiver)[:2] == ids(receiver)[2:]


def test_what_a_sender_without_its_claim_records_does_not_count(receiver: HttpReceiver) -> None:
    subscription = subscribe(receiver.url)
    [first] = write(subscription.tenant_id, "task.changed")
    begin = fresh(subscription)
    EventSubscription.objects.update(woken_at=begin.created_at)
    claimed = claim_due(failing=False)
    redrive_subscription(
        subscription.tenant_id, subscription.pk, after=None, since=begin.created_at, actor=ACTOR
    )

    sending._send(claimed)

    assert fresh(subscription).xid == 0, "the redrive stands"
    assert send() == 1
    assert received(receiver) == [first, first]


def test_after_three_days_the_subscription_is_paused_with_its_reason(
    receiver: HttpReceiver,
) -> None:
    subscription = subscribe(receiver.url)
    [first] = write(subscription.tenant_id, "task.changed")
    receiver.status = 500
    send()
    pass_time(days=3)

    send(failing=True)

    row = fresh(subscription)
    assert (row.status, row.paused_reason, row.attempt_count) == ("PAUSED", "undeliverable", 2)
    entry = AuditEntry.objects.get(action="event_subscription.paused")
    assert (entry.actor, entry.object_id) == ("system", str(subscription.pk))
    receiver.status = 200
    change_subscription(subscription.tenant_id, subscription.pk, {"status": "ACTIVE"}, actor=ACTOR)
    assert send() == 1
    assert received(receiver)[-1] == first


@pytest.mark.parametrize(
    ("url", "status", "reason"),
    [
        ("", 410, "gone"),
        ("http://10.0.0.7/x", 200, "url_forbidden"),
    ],
)
def test_what_no_retry_mends_pauses_at_once(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch, url: str, status: int, reason: str
) -> None:
    subscription = subscribe(receiver.url)
    write(subscription.tenant_id, "task.changed")
    receiver.status = status
    if url:
        monkeypatch.setattr(sending, "url_of", lambda _: url)

    assert send() == 0

    row = fresh(subscription)
    assert (row.status, row.paused_reason, row.claim_id) == ("PAUSED", reason, None)


@pytest.mark.logs("event_webhook.paused")
def test_a_place_that_is_kept_no_longer_pauses(receiver: HttpReceiver) -> None:
    subscription = subscribe(receiver.url)
    year = fresh(subscription).read_at.year
    EventSubscription.objects.update(read_at=fresh(subscription).read_at.replace(year=year - 2))

    assert send() == 0

    row = fresh(subscription)
    assert (row.status, row.paused_reason) == ("PAUSED", "cursor_expired")
    assert "since=" in row.last_error


def test_only_events_of_the_filters_tasks_are_sent_and_others_are_passed(
    receiver: HttpReceiver,
) -> None:
    subscription = subscribe(receiver.url)
    task = make_task(subscription.tenant)
    change_subscription(
        subscription.tenant_id,
        subscription.pk,
        {"filter": {"task_ids": [str(task.id)]}, "types": ["task.changed", "execution.failed"]},
        actor=ACTOR,
    )
    write(subscription.tenant_id, "execution.failed")

    assert send() == 1

    assert received(receiver) == [task.id]
    assert send() == 0


def test_two_senders_at_once_send_each_event_once(receiver: HttpReceiver) -> None:
    subscription = subscribe(receiver.url)
    wanted = write_batch(subscription.tenant_id, 3)
    EventSubscription.objects.update(woken_at=subscription.created_at)
    claimed: list[list[EventSubscription]] = []

    def claim() -> None:
        from django.db import connection

        claimed.append(claim_due(failing=False))
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(len(one) for one in claimed) == [0, 1]
    assert sum(sending._send(one) for one in claimed) == 3
    assert received(receiver) == wanted


def test_one_thread_sends_and_takes_what_others_were_woken_for(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = subscribe(receiver.url), subscribe(receiver.url, "Beta")
    subjects = write(first.tenant_id, "task.changed")
    others: list[int] = []

    def claim_and_be_asked(*, failing: bool) -> list[EventSubscription]:
        found = claim_due(failing=failing)
        if not found and not others:
            # Too late for this look of the sender.
            subjects.extend(write(second.tenant_id, "task.changed"))
            others.append(send())
        return found

    monkeypatch.setattr(sending, "claim_due", claim_and_be_asked)

    assert send() == 2

    assert others == [0], "another job leaves it to the one that runs"
    assert received(receiver) == subjects


def test_a_sender_that_failed_lets_the_next_one_send(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(subscribe(receiver.url).tenant_id, "task.changed")

    def fail(*, failing: bool) -> list[EventSubscription]:
        raise OperationalError("The server has gone.")

    with monkeypatch.context() as broken:
        broken.setattr(sending, "claim_due", fail)
        with pytest.raises(OperationalError):
            send()

    assert sending.send_due_events(failing=False) == 1
