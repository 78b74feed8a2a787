"""Notices to channels survive receivers that are away; none goes twice, and tests are real."""

from __future__ import annotations

import json
from typing import Any

import pytest

from delivery.signing import parse_secret, sign
from events.models import AuditEntry
from notifications.models import Alert, AlertChannel, Delivery
from notifications.notices import plan_due_notices
from notifications.services import channel_sending as module
from notifications.services.alerts import mute_alert
from notifications.services.channel_sending import kept_back, send_channel_trial, send_to_channel
from notifications.services.channels import change_channel
from notifications.services.deliveries import send_delivery
from notifications.transports.answers import Answer
from shared.exceptions import NotFound
from tenants.services.signing_secrets import reveal_signing_secrets, rotate_signing_secret
from tenants.suspension import TenantSuspended
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import pass_time
from tests.support.alert_channels import allow_loopback, make_channel
from tests.support.alerts import make_alert
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.smtp_sink import free_port
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)


def owed(url: str, **parts: Any) -> Delivery:
    """Return the delivery that an alert has made to a channel of this URL."""
    tenant = make_tenant("acme")
    make_channel(tenant, url=url, **parts)
    make_alert(tenant)
    plan_due_notices()
    return Delivery.objects.get(alert_channel__isnull=False)


def send_all() -> list[str | None]:
    rows = Delivery.objects.filter(alert_channel__isnull=False, status="PENDING")
    return [send_delivery(row.id) for row in rows.order_by("-id")]


def events(receiver: HttpReceiver) -> list[str]:
    return [json.loads(one.body)["event"] for one in receiver.requests]


def test_a_channel_that_is_away_for_an_hour_gets_the_beginning_and_the_end_once_in_order() -> None:
    delivery = owed(f"http://127.0.0.1:{free_port()}/hook")
    for _ in range(4):
        assert "SENT" not in send_all()
        pass_time(minutes=16)
        plan_due_notices()
    assert Alert.objects.get().closed_at is not None
    channel = AlertChannel.objects.get()
    assert channel.failed_at is not None
    assert "not reached" in channel.error

    with http_receiver() as receiver:
        change_channel(channel.tenant_id, channel.pk, {"url": receiver.url}, actor=ACTOR)
        for _ in range(3):
            send_all()

    assert events(receiver) == ["opened", "closed"]
    assert receiver.requests[0].headers["webhook-id"] == str(delivery.id)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"SENT"}
    kept = AlertChannel.objects.get()
    assert (kept.error, kept.failed_at is None, kept.last_sent_at is None) == ("", True, False)


@pytest.mark.parametrize(("told", "becomes"), [("SENT", "SENT"), ("FAILED", "SUPPRESSED")])
def test_an_end_is_sent_only_where_the_beginning_has_arrived(told: str, becomes: str) -> None:
    with http_receiver() as receiver:
        opening = owed(receiver.url)
        pass_time(minutes=16)
        plan_due_notices()
        Delivery.objects.filter(pk=opening.pk).update(status=told)
        closing = Delivery.objects.get(closing=True)

        assert send_delivery(closing.pk) == becomes

    assert events(receiver) == (["closed"] if told == "SENT" else [])


def test_a_notice_is_signed_with_every_valid_secret_of_the_tenant() -> None:
    with http_receiver() as receiver:
        delivery = owed(receiver.url)
        tenant = delivery.alert.tenant_id
        rotate_signing_secret(tenant, actor=ACTOR)
        send_delivery(delivery.id)

    [got] = receiver.requests
    secrets = [parse_secret(one.secret) for one in reveal_signing_secrets(tenant, actor=ACTOR)]
    stamp = int(got.headers["webhook-timestamp"])
    assert len(secrets) == 2
    assert got.headers["webhook-signature"] == sign(secrets, str(delivery.id), stamp, got.body)


def test_a_repeat_after_a_death_behind_the_sending_carries_the_same_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(*args: object) -> None:
        raise SystemExit("killed")

    with http_receiver() as receiver:
        delivery = owed(receiver.url)
        with monkeypatch.context() as patch:
            patch.setattr("notifications.services.deliveries.sent", die)
            with pytest.raises(SystemExit):
                send_delivery(delivery.id)
        pass_time(seconds=121)
        assert send_delivery(delivery.id) == "SENT"

    first, again = receiver.requests
    assert first.headers["webhook-id"] == again.headers["webhook-id"]


@pytest.mark.parametrize(
    ("status", "becomes"), [(410, "FAILED"), (429, "PENDING"), (500, "PENDING")]
)
def test_an_answer_is_seen_in_the_log(status: int, becomes: str) -> None:
    with http_receiver() as receiver:
        delivery = owed(receiver.url)
        receiver.status, receiver.body = status, b"not today"
        assert send_delivery(delivery.id) == becomes

    delivery.refresh_from_db()
    assert delivery.error == f"The channel answered HTTP {status}. It said: not today"


def test_a_chat_gets_one_message_for_a_bundle() -> None:
    with http_receiver() as receiver:
        tenant = make_tenant("acme")
        url = f"ntfy://127.0.0.1:{receiver.port}/topic"
        make_channel(tenant, kind="chat", url=url)
        for number in range(13):
            make_alert(tenant, number)
        plan_due_notices()
        pass_time(minutes=5)
        send_all()

    titles = [json.loads(one.body)["title"] for one in receiver.requests]
    assert len(titles) == 11
    assert [one for one in titles if one.endswith("3 more alerts")] == ["[acme] 3 more alerts"]
    assert set(Delivery.objects.values_list("status", flat=True)) == {"SENT"}


def test_what_is_no_longer_wanted_is_not_sent() -> None:
    with http_receiver() as receiver:
        delivery = owed(receiver.url)
        alert, channel = delivery.alert, delivery.alert_channel
        assert channel is not None
        mute_alert(alert.tenant_id, alert.pk, minutes=5, actor=ACTOR)
        assert kept_back(Delivery.objects.get()) == "muted"
        mute_alert(alert.tenant_id, alert.pk, minutes=0, actor=ACTOR)
        change_channel(alert.tenant_id, channel.pk, {"kinds": []}, actor=ACTOR)
        assert send_delivery(delivery.id) == "SUPPRESSED"

    assert receiver.requests == []
    assert Delivery.objects.get().reason == "unsubscribed"


def test_a_test_shows_the_real_answer_and_is_audited() -> None:
    with http_receiver() as receiver:
        channel = make_channel(make_tenant("acme"), url=f"{receiver.url}/t0ken-of-ours")
        receiver.body = b"welcome, t0ken-of-ours"
        taken = send_channel_trial(channel.tenant_id, channel.pk, actor=ACTOR)
        receiver.status, receiver.body = 403, b"go away"
        refused = send_channel_trial(channel.tenant_id, channel.pk, actor=ACTOR)

    assert (taken.sent, taken.status, taken.answer) == (True, 200, "welcome, [redacted]")
    assert (refused.sent, refused.status, refused.answer) == (False, 403, "go away")
    assert events(receiver) == ["test", "test"]
    assert AuditEntry.objects.filter(action="alert_channel.tested").count() == 2
    assert not Delivery.objects.exists()


def test_a_test_of_a_place_without_a_receiver_says_so() -> None:
    channel = make_channel(make_tenant(), url=f"http://127.0.0.1:{free_port()}/")

    trial = send_channel_trial(channel.tenant_id, channel.pk, actor=ACTOR)

    assert (trial.sent, trial.status, trial.answer) == (False, None, "")
    assert "not reached" in trial.error


def test_a_suspended_tenant_and_a_stranger_send_no_test() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    channel = make_channel(tenant)
    with pytest.raises(NotFound):
        send_channel_trial(other.id, channel.pk, actor=ACTOR)
    suspend(tenant)
    with pytest.raises(TenantSuspended):
        send_channel_trial(tenant.id, channel.pk, actor=ACTOR)


def test_a_url_that_no_key_opens_ends_the_delivery() -> None:
    delivery = owed("https://hooks.example.com/x")
    other = make_channel(delivery.alert.tenant, "other")
    sealed = AlertChannel.objects.get(pk=other.pk).sealed_url
    AlertChannel.objects.exclude(pk=other.pk).update(sealed_url=sealed)

    assert send_delivery(delivery.id) == "FAILED"


def test_a_claim_is_sent_as_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from notifications.claims import claim_delivery

    delivery = owed("https://hooks.example.com/x")
    claim = claim_delivery(delivery.id)
    assert claim is not None
    monkeypatch.setattr(module, "send_webhook", lambda *args, **parts: Answer(200, ""))

    assert send_to_channel(claim) == ""
