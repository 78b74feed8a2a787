"""Messages survive mail servers, brokers and senders that die; none goes twice for one notice."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.conf import settings
from django.db.models.functions import Now

from notifications import claims
from notifications.alerter import Alerter
from notifications.claims import claim_delivery
from notifications.models import Alert, Delivery, NotificationPreference, PushSubscription
from notifications.notices import plan_due_notices
from notifications.services import deliveries as module
from notifications.services.deliveries import (
    prune_alerts,
    send_delivery,
    wake_due_deliveries,
)
from notifications.services.push_subscriptions import subscribe
from notifications.transports.errors import TransportError
from shared.conf import Conf
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import begin, fail, make_member, pass_time
from tests.support.alerts import make_alert
from tests.support.push_sink import PushSink, push_service
from tests.support.recounting import recounts
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db(transaction=True)


def owed(channel: str = "email", **member: Any) -> Delivery:
    """Return the delivery that a failure has made."""
    tenant = make_tenant("acme")
    make_member(tenant, **member)
    begin()
    fail(tenant)
    look()
    return Delivery.objects.get(channel=channel)


def look() -> None:
    Alerter().run_once()
    pass_time(seconds=1)
    Alerter().run_once()


@recounts("alert.deliveries")
def test_a_mail_server_that_is_away_for_an_hour_gets_each_message_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    use_smtp(monkeypatch, port)
    delivery = owed()
    for _ in range(12):
        assert send_delivery(delivery.id) == "PENDING"
        assert send_delivery(delivery.id) is None  # not before its time
        fail(Alert.objects.get().tenant)
        pass_time(minutes=16)
        look()

    sink = SmtpSink()
    with smtp_server(sink, port):
        pass_time(minutes=16)
        for row in Delivery.objects.filter(channel="email", status="PENDING"):
            assert send_delivery(row.id) == "SENT"

    assert len(sink.messages) == Alert.objects.count() == 1
    assert sink.messages[0]["Subject"].startswith("[failed] 13 failures")
    delivery.refresh_from_db()
    assert (delivery.attempt_count, delivery.count_shown) == (13, 13)


def test_a_sender_killed_before_sending_only_delays_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delivery = owed()
    assert claim_delivery(delivery.id) is not None  # and the process dies
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        assert send_delivery(delivery.id) is None  # the claim still holds

        pass_time(seconds=121)
        assert send_delivery(delivery.id) == "SENT"

    assert len(sink.messages) == 1


def test_a_repeat_after_a_death_behind_the_sending_carries_the_same_message_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delivery = owed()
    sink = SmtpSink()

    def die(*args: object) -> None:
        raise SystemExit("killed")

    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        with monkeypatch.context() as patch:
            patch.setattr(module, "sent", die)
            with pytest.raises(SystemExit):
                send_delivery(delivery.id)
        pass_time(seconds=121)
        send_delivery(delivery.id)

    first, again = sink.messages
    assert first["Message-ID"] == again["Message-ID"] == f"<{delivery.id}@127.0.0.1>"


def test_a_late_sender_does_not_overwrite_what_another_has_recorded() -> None:
    delivery = owed()
    stale = claim_delivery(delivery.id)
    assert stale is not None
    pass_time(seconds=121)
    current = claim_delivery(delivery.id)
    assert current is not None

    claims.sent(current, "")
    claims.failed(stale, TransportError("late"))

    delivery.refresh_from_db()
    assert (delivery.status, delivery.error) == ("SENT", "")


@pytest.mark.parametrize(
    ("verb", "answer", "status"),
    [
        ("RCPT", "550 no such user", "FAILED"),
        ("RCPT", "450 mailbox busy", "PENDING"),
        ("DATA", "554 refused", "FAILED"),
        ("DATA", "451 later", "PENDING"),
    ],
)
def test_what_a_mail_server_refuses_for_good_is_visible_and_the_rest_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, verb: str, answer: str, status: str
) -> None:
    delivery = owed()
    sink = SmtpSink()
    sink.refuse[verb] = answer
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        assert send_delivery(delivery.id) == status

    delivery.refresh_from_db()
    assert answer[:3] in delivery.error


def test_a_message_that_nobody_takes_for_a_day_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_smtp(monkeypatch, free_port())
    delivery = owed()
    pass_time(hours=24)

    assert send_delivery(delivery.id) == "FAILED"

    delivery.refresh_from_db()
    assert delivery.error.startswith("Given up after 24 hours.")


def test_a_sender_that_dies_while_it_records_a_bundle_has_recorded_none_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    for number in range(2):
        make_alert(tenant, number)
    plan_due_notices()
    owed_mails = Delivery.objects.filter(channel="email")
    owed_mails.update(bundled=True)
    claim = claim_delivery(owed_mails.earliest("id").pk)
    assert claim is not None
    assert len(claim.deliveries) == 2
    mine, asked = claims._mine, []

    def die_at_the_second(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 2:
            raise SystemExit("killed")
        return mine(*given)

    monkeypatch.setattr(claims, "_mine", die_at_the_second)
    with pytest.raises(SystemExit):
        claims.sent(claim, "")

    assert set(owed_mails.values_list("status", flat=True)) == {"SENDING"}


def test_a_member_who_unsubscribes_meanwhile_gets_nothing() -> None:
    delivery = owed()
    assert delivery.membership is not None
    NotificationPreference.objects.create(membership=delivery.membership, email_events=[])

    assert send_delivery(delivery.id) == "SUPPRESSED"

    delivery.refresh_from_db()
    assert delivery.reason == "unsubscribed"


def test_a_deactivated_member_gets_nothing() -> None:
    delivery = owed()
    assert delivery.membership is not None
    user = delivery.membership.user
    user.is_active = False
    user.save()

    assert send_delivery(delivery.id) == "SUPPRESSED"


def test_what_is_due_is_woken_once_and_again_when_nothing_came_of_it(woken: list[object]) -> None:
    delivery = owed()
    assert woken == [delivery.id]

    wake_due_deliveries()
    assert woken == [delivery.id]

    pass_time(seconds=31)
    wake_due_deliveries()
    assert woken == [delivery.id] * 2


@pytest.mark.logs("deliveries.held_back")
def test_a_broker_that_is_away_loses_no_wake_up(
    monkeypatch: pytest.MonkeyPatch, woken: list[object]
) -> None:
    def refuse(delivery_id: object) -> None:
        raise redis.ConnectionError("away")

    with monkeypatch.context() as patch:
        patch.setattr(module, "wake_sender", refuse)
        delivery = owed()
        assert wake_due_deliveries() > 0

    wake_due_deliveries()

    assert woken == [delivery.id]


def test_alerts_past_the_retention_are_forgotten_with_their_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owed()
    monkeypatch.setattr(settings, "PUNCTUAL", Conf(**{**_knobs(), "retention_days": 1}))
    pass_time(minutes=16)
    Alerter().run_once()
    assert prune_alerts() == 0

    pass_time(days=2)

    assert prune_alerts() == 1
    assert not Delivery.objects.exists()


@pytest.mark.usefixtures("vapid")
@pytest.mark.logs("delivery.failed")
def test_a_push_reaches_each_browser_once_though_one_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_loopback(monkeypatch)
    tenant = make_tenant()
    member = make_member(tenant)
    with push_service(PushSink()) as near, push_service(PushSink(status=503)) as away:
        for sink in (near, away):
            subscribe(tenant.id, member.pk, endpoint=sink.url, actor=ACTOR, **sink.keys)
        begin()
        fail(tenant)
        look()
        delivery = Delivery.objects.get(channel="push")
        assert send_delivery(delivery.id) == "PENDING"

        away.status = 201
        pass_time(minutes=16)
        assert send_delivery(delivery.id) == "SENT"

    assert [len(sink.opened) for sink in (near, away)] == [1, 1]
    assert near.opened[0]["title"].startswith("[failed] nightly-invoice (Alpha): HTTP 503")
    assert PushSubscription.objects.filter(failed_at=None).count() == 2


@pytest.mark.usefixtures("vapid")
def test_a_browser_that_has_left_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    tenant = make_tenant()
    member = make_member(tenant)
    with push_service(PushSink(status=410)) as sink:
        subscribe(tenant.id, member.pk, endpoint=sink.url, actor=ACTOR, **sink.keys)
        begin()
        fail(tenant)
        look()
        delivery = Delivery.objects.get(channel="push")

        assert send_delivery(delivery.id) == "FAILED"

    assert not PushSubscription.objects.exists()
    delivery.refresh_from_db()
    assert "unsubscribed" in delivery.error


def allow_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = {**_knobs(), "webhook_allowed_networks": ("127.0.0.0/8",)}
    monkeypatch.setattr(settings, "PUNCTUAL", Conf(**knobs))


def _knobs() -> dict[str, Any]:
    found = settings.PUNCTUAL
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


@pytest.mark.parametrize("when", ["before the failure", "before it is sent"])
def test_members_of_a_suspended_tenant_are_told_nothing_and_that_is_noted(when: str) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    begin()
    if when == "before the failure":
        Tenant.objects.update(suspended_at=Now())
    fail(tenant)
    look()
    suspend(tenant)

    owed_now = list(Delivery.objects.all())
    for delivery in owed_now:
        send_delivery(delivery.id)

    found = Delivery.objects.exclude(channel="console").values_list("status", "reason")
    assert owed_now
    assert set(found) == {("SUPPRESSED", "tenant_suspended")}
