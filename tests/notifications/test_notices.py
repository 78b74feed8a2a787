"""When an alert is told, to whom, and how a storm becomes one message."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.ledger import totals
from executions.loop.clocks import database_now
from notifications.alerter import Alerter
from notifications.models import Alert, Delivery, NotificationPreference
from notifications.notices import plan_due_notices, seconds_until_due
from notifications.services.alerts import mute_alert
from notifications.services.deliveries import send_delivery
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import begin, fail, make_member, pass_time
from tests.support.alerts import make_alert
from tests.support.smtp_sink import SmtpSink, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)


def test_defaults_are_mail_for_final_failures_and_the_console_for_all() -> None:
    tenant = make_tenant()
    make_member(tenant)
    first, final = make_alert(tenant, kind="first_failure"), make_alert(tenant)

    plan_due_notices()

    assert set(Delivery.objects.values_list("alert_id", "channel", "status")) == {
        (first.id, "console", "SENT"),
        (final.id, "console", "SENT"),
        (final.id, "email", "PENDING"),
    }


def test_a_storm_of_causes_is_ten_messages_and_one_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    for number in range(40):
        make_alert(tenant, number)
    plan_due_notices()
    mails = Delivery.objects.filter(channel="email")
    assert (mails.filter(bundled=False).count(), mails.filter(bundled=True).count()) == (10, 30)

    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        for row in mails:
            send_delivery(row.id)
        assert len(sink.messages) == 10
        pass_time(minutes=5)
        for row in mails.filter(status="PENDING"):
            send_delivery(row.id)

    assert len(sink.messages) == 11
    assert sink.messages[10]["Subject"] == "[failed] 30 alerts (acme): 60 failures"
    assert mails.filter(status="SENT").count() == 40
    assert mails.filter(bundled=True).values("message_id").distinct().count() == 1


def test_a_member_without_an_address_is_seen_in_the_log() -> None:
    tenant = make_tenant()
    make_member(tenant, email="")
    make_alert(tenant)

    plan_due_notices()

    found = Delivery.objects.get(channel="email")
    assert (found.status, found.reason) == ("SUPPRESSED", "no_address")
    counted = totals.read()
    assert counted["deliveries/email/suppressed"] == 1
    assert counted["deliveries/console/sent"] == 1


def test_a_muted_alert_counts_on_stays_open_and_tells_when_the_mute_ends() -> None:
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant)
    Alerter().run_once()
    alert = Alert.objects.get()
    mute_alert(tenant.id, alert.id, minutes=60, actor=ACTOR)
    pass_time(minutes=30)
    Alerter().run_once()
    fail(tenant)
    Alerter().run_once()
    alert.refresh_from_db()
    assert (alert.count, alert.closed_at) == (2, None)
    assert not Delivery.objects.exists()

    pass_time(minutes=31)
    Alerter().run_once()

    assert Delivery.objects.filter(channel="email", status="PENDING").count() == 1


def test_a_member_who_is_muted_is_not_told_and_others_are() -> None:
    tenant = make_tenant()
    quiet, loud = make_member(tenant), make_member(tenant, "bob", email="bob@example.com")
    until = database_now() + timedelta(hours=1)
    NotificationPreference.objects.create(membership=quiet, muted_until=until)
    make_alert(tenant)

    plan_due_notices()

    mails = Delivery.objects.filter(channel="email")
    assert mails.get(membership=quiet).reason == "muted"
    assert mails.get(membership=loud).status == "PENDING"


def test_nothing_is_due_without_alerts() -> None:
    assert seconds_until_due() is None
    assert plan_due_notices() == []
