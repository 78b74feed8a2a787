"""When an alert is told, to whom, and how a storm becomes one message."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from executions.ledger import totals
from executions.loop.clocks import database_now
from notifications.alerter import Alerter
from notifications.findings import Cause, Finding
from notifications.incidents import count_findings, recover
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


def _over(alert: Alert) -> None:
    recover([alert.id], database_now())


def test_the_end_of_an_alert_is_told_to_those_who_were_told_of_it() -> None:
    tenant = make_tenant()
    told = make_member(tenant)
    alert = make_alert(tenant)
    plan_due_notices()
    Delivery.objects.filter(channel="email").update(status="SENT", next_attempt_at=None)
    late = make_member(tenant, "bob", email="bob@example.com")

    _over(alert)
    [notice] = plan_due_notices()

    assert notice.closing
    closing = Delivery.objects.filter(closing=True)
    assert set(closing.values_list("membership", "channel")) == {
        (told.pk, "console"),
        (told.pk, "email"),
    }
    assert not Delivery.objects.filter(membership=late).exists()
    alert.refresh_from_db()
    assert (alert.closed_at, alert.next_notice_at) == (alert.last_notified_at, None)


def test_a_member_who_does_not_want_it_hears_of_no_end() -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    NotificationPreference.objects.create(
        membership=member, email_events=["final_failure"], console_events=["final_failure"]
    )
    alert = make_alert(tenant)
    plan_due_notices()

    _over(alert)
    plan_due_notices()

    assert not Delivery.objects.filter(closing=True).exists()
    alert.refresh_from_db()
    assert alert.closed_at is not None


def test_an_alert_that_is_over_before_it_was_told_is_told_once() -> None:
    tenant = make_tenant()
    make_member(tenant)
    alert = make_alert(tenant)
    _over(alert)

    plan_due_notices()
    plan_due_notices()

    assert set(Delivery.objects.values_list("channel", "notice_number", "closing")) == {
        ("console", 1, True),
        ("email", 1, True),
    }


def test_a_muted_alert_tells_its_end_when_the_mute_ends() -> None:
    tenant = make_tenant()
    make_member(tenant)
    alert = make_alert(tenant)
    plan_due_notices()
    mute_alert(tenant.id, alert.id, minutes=60, actor=ACTOR)

    _over(alert)
    assert plan_due_notices() == []
    pass_time(minutes=61)

    assert [one.closing for one in plan_due_notices()] == [True]


def test_an_alert_that_comes_and_goes_speaks_once_in_a_quarter_of_an_hour() -> None:
    tenant = make_tenant()
    make_member(tenant)
    finding = Finding(
        Cause(tenant.id, "circuit_open", destination="x"), "calls to x wait", database_now()
    )
    spoken = []
    for _minute in range(40):
        with transaction.atomic():
            count_findings([finding], database_now())
        pass_time(seconds=30)
        spoken += plan_due_notices()
        found = Alert.objects.filter(closed_at=None).values_list("id", flat=True)
        recover(list(found), database_now())
        pass_time(seconds=30)
        spoken += plan_due_notices()

    # Told, over; told with a flap every quarter of an hour; no end until it lasts.
    assert len(spoken) <= 5
    assert [one.closing for one in spoken[:2]] == [False, True]

    pass_time(minutes=16)
    [last] = plan_due_notices()
    assert last.closing
    assert not Alert.objects.filter(closed_at=None).exists()


def test_a_condition_with_an_end_of_its_own_ends_then() -> None:
    tenant = make_tenant()
    make_member(tenant)
    alert = make_alert(tenant, kind="budget_exceeded")
    ends_at = database_now() + timedelta(minutes=30)
    Alert.objects.update(ends_at=ends_at)
    plan_due_notices()
    pass_time(minutes=6)
    assert plan_due_notices() == []
    Alert.objects.update(ends_at=database_now(), next_notice_at=database_now())

    assert [one.closing for one in plan_due_notices()] == [True]
    alert.refresh_from_db()
    assert alert.recovered_at == alert.ends_at
