"""From failures to exactly one message each, whatever dies in between."""

from __future__ import annotations

from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from notifications import alerter as module
from notifications import incidents, judging
from notifications.alerter import Alerter
from notifications.incidents import count_findings
from notifications.models import Alert, Delivery, NotificationPreference
from notifications.services.deliveries import send_delivery
from tests.factories import make_tenant
from tests.notifications.cast import begin, fail, fail_again, make_member, pass_time, retry
from tests.support.smtp_sink import SmtpSink, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def smtp(monkeypatch: pytest.MonkeyPatch) -> Any:
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        yield sink


def look() -> None:
    """Let the gathering time pass and the alerter look."""
    alerter = Alerter()
    alerter.run_once()
    pass_time(seconds=1)
    alerter.run_once()


def send_all() -> None:
    for delivery in Delivery.objects.filter(status="PENDING"):
        send_delivery(delivery.id)


def only(messages: list[EmailMessage]) -> EmailMessage:
    assert len(messages) == 1
    return messages[0]


def test_a_final_failure_becomes_one_mail_to_the_member(smtp: SmtpSink) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    begin()
    fail(tenant)

    look()
    send_all()
    look()
    send_all()

    mail = only(smtp.messages)
    assert mail["Subject"] == (
        "[failed] nightly-invoice (acme): HTTP 503 from api.example.com after 1 attempt"
    )
    assert mail["To"] == "ada@example.com"
    assert Delivery.objects.get(channel="email").status == "SENT"


def test_a_first_failure_is_told_once_and_not_again_by_later_attempts() -> None:
    tenant = make_tenant()
    begin()
    retry(tenant)
    Alerter().run_once()

    from events.models import Event

    first = Event.objects.get(name="execution.retrying")
    from events.outbox import append

    assert first.subject_id is not None
    append(tenant.id, "execution.retrying", first.subject_id, first.task_id)
    Alerter().run_once()

    alert = Alert.objects.get()
    assert (alert.kind, alert.count, alert.attempt) == ("first_failure", 1, 1)
    assert alert.title == "nightly-invoice: HTTP 503 from api.example.com after 1 attempt"


def test_a_thousand_failures_of_one_cause_are_one_message_and_then_a_digest(
    smtp: SmtpSink,
) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    begin()
    first = fail(tenant)[0]
    fail_again(first, 999)

    look()
    send_all()

    assert only(smtp.messages)["Subject"].startswith("[failed] 1000 failures: nightly-invoice")
    alert = Alert.objects.get()
    assert (alert.count, alert.task_count, alert.notice_number) == (1000, 1, 1)

    fail_again(first, 250)
    look()
    send_all()
    assert len(smtp.messages) == 1  # the digest waits for its time

    pass_time(minutes=5)
    look()
    send_all()
    assert "1250 failures" in smtp.messages[1]["Subject"]
    assert Delivery.objects.get(channel="email", notice_number=2).count_shown == 1250

    pass_time(minutes=5)
    look()
    send_all()
    assert len(smtp.messages) == 2  # nothing grew, nothing is told


def test_an_alert_closes_after_a_quiet_quarter_of_an_hour_and_the_next_failure_opens_another() -> (
    None
):
    tenant = make_tenant()
    begin()
    fail(tenant)
    look()
    pass_time(minutes=16)
    look()
    assert Alert.objects.get().closed_at is not None

    fail(tenant)
    look()

    assert Alert.objects.filter(closed_at=None).get().count == 1
    assert Alert.objects.count() == 2


def test_different_causes_and_tenants_have_their_own_alerts() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    begin()
    fail(alpha, status=503)
    fail(alpha, status=404)
    fail(alpha, target={"url": "https://other.example.com/x"})
    fail(beta, status=503)

    look()

    assert sorted(Alert.objects.filter(tenant=alpha).values_list("cause", flat=True)) == [
        "HTTP 404 from api.example.com",
        "HTTP 503 from api.example.com",
        "HTTP 503 from other.example.com",
    ]
    assert Alert.objects.filter(tenant=beta).get().count == 1


def test_a_member_hears_nothing_of_another_tenant() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    make_member(alpha)
    theirs = make_member(beta, "bob", email="bob@example.com")
    begin()
    fail(beta)

    look()

    assert {row.membership for row in Delivery.objects.all()} == {theirs}


def test_an_alerter_that_dies_before_its_commit_counts_the_failures_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin()
    fail(make_tenant(), 2)
    real = count_findings

    def die(*args: Any) -> None:
        real(*args)
        raise SystemExit("killed")

    monkeypatch.setattr(judging, "count_findings", die)
    with pytest.raises(SystemExit):
        Alerter().run_once()
    assert not Alert.objects.exists()

    monkeypatch.setattr(judging, "count_findings", real)
    Alerter().run_once()
    Alerter().run_once()

    assert Alert.objects.get().count == 2


def test_planning_that_dies_before_its_commit_plans_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "GATHER", timedelta(minutes=1))
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant)
    Alerter().run_once()
    pass_time(minutes=1)
    real = Delivery.objects.bulk_create

    def die(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise SystemExit("killed")

    monkeypatch.setattr(Delivery.objects, "bulk_create", die)
    with pytest.raises(SystemExit):
        Alerter().run_once()
    assert not Delivery.objects.exists()

    monkeypatch.undo()
    monkeypatch.setattr(module, "wake_due_deliveries", lambda: 1.0)
    Alerter().run_once()

    assert Delivery.objects.filter(channel="email").count() == 1


def test_a_console_hears_of_an_alert_and_not_of_each_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toasts: list[dict[str, Any]] = []
    monkeypatch.setattr(module, "publish_alert", lambda tenant, **alert: toasts.append(alert))
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant, 3)

    look()

    assert [(toast["severity"], toast["title"]) for toast in toasts] == [
        ("error", "3 failures: 3 tasks: HTTP 503 from api.example.com")
    ]


def test_nobody_who_wants_no_console_alerts_gets_a_toast(monkeypatch: pytest.MonkeyPatch) -> None:
    toasts: list[object] = []
    monkeypatch.setattr(module, "publish_alert", lambda tenant, **alert: toasts.append(alert))
    tenant = make_tenant()
    NotificationPreference.objects.create(membership=make_member(tenant), console_events=[])
    begin()
    fail(tenant)

    look()

    assert toasts == []


def test_the_next_look_comes_when_the_gathering_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "GATHER", timedelta(minutes=1))
    monkeypatch.setattr(module, "_IDLE_SECONDS", 3600.0)
    begin()
    fail(make_tenant())

    wait = Alerter().run_once()

    assert 0 < wait <= 60
