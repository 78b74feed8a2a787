"""Storms of failures: few messages, exact counts, also where mail is away for an hour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from executions.models import Execution
from notifications.alerter import Alerter
from notifications.models import Alert, AlertChannel, Delivery
from notifications.services.deliveries import send_delivery
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.notifications.cast import begin, fail, fail_again, make_member, pass_time
from tests.support.alert_channels import allow_loopback, make_channel
from tests.support.http_receiver import http_receiver
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)


def three_causes(tenant: Tenant) -> list[Execution]:
    """Let one execution fail of each of three causes."""
    return [fail(tenant, name=f"job {status}", status=status)[0] for status in (500, 503, 404)]


def storm(causes: Sequence[Execution], counts: Sequence[int]) -> None:
    for execution, count in zip(causes, counts, strict=True):
        fail_again(execution, count)


def look() -> None:
    """Let the alerter read every event and plan what is due by now."""
    alerter = Alerter()
    while alerter.run_once() == 0.0:
        pass
    pass_time(seconds=1)
    while alerter.run_once() == 0.0:
        pass


def send_all() -> None:
    for delivery in Delivery.objects.filter(status="PENDING").order_by("id"):
        send_delivery(delivery.id)


def subjects(sink: SmtpSink, address: str) -> list[str]:
    return [str(one["Subject"]) for one in sink.messages if one["To"] == address]


def counts_told(texts: Sequence[str]) -> list[int]:
    return sorted(int(re.findall(r"(\d+) failures", text)[0]) for text in texts)


PEOPLE = ("ada@example.com", "bob@example.com")


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant("acme")
    for address in PEOPLE:
        make_member(made, address.partition("@")[0], email=address)
    begin()
    return made


def test_ten_thousand_failures_of_three_causes_are_three_messages_a_person_and_a_digest(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        causes = three_causes(tenant)
        storm(causes, (999, 499, 1))
        look()
        send_all()
        for person in PEOPLE:
            assert counts_told(subjects(sink, person)) == [2, 500, 1000]

        storm(causes, (5000, 2497, 1001))
        look()
        send_all()
        assert len(sink.messages) == 3 * len(PEOPLE)

        pass_time(minutes=5)
        look()
        send_all()
        pass_time(minutes=5)
        look()
        send_all()

    for person in PEOPLE:
        *_, digest = subjects(sink, person)
        assert len(subjects(sink, person)) == 4
        assert digest == "[failed] 3 alerts (acme): 10000 failures"
    text = sink.messages[-1].get_body(("plain",))
    assert text is not None
    assert counts_told(re.findall(r"\d+ failures: job \d+", text.get_content())) == [
        *(1003, 2997, 6000)
    ]
    assert dict(Alert.objects.values_list("error_signature", "count")) == {
        "http_status:500": 6000,
        "http_status:503": 2997,
        "http_status:404": 1003,
    }
    assert set(Delivery.objects.values_list("status", flat=True)) == {"SENT"}


def test_a_storm_while_mail_is_away_for_an_hour_is_told_once_with_every_failure(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_smtp(monkeypatch, free_port())
    causes = three_causes(tenant)
    for _ in range(6):
        look()
        send_all()
        storm(causes, (30, 20, 10))
        pass_time(minutes=10)
    look()
    waiting = Delivery.objects.filter(channel="email")
    assert set(waiting.values_list("status", flat=True)) == {"PENDING"}
    assert all(row.attempt_count > 3 and row.error for row in waiting)

    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        for _ in range(3):
            pass_time(minutes=5)
            look()
            send_all()

    for person in PEOPLE:
        assert counts_told(subjects(sink, person)) == [61, 121, 181]
    ids = Counter(str(one["Message-ID"]) for one in sink.messages)
    assert set(ids.values()) == {1}
    assert set(waiting.values_list("status", flat=True)) == {"SENT"}


def test_a_chat_gets_what_has_grown_as_one_message(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as chat, http_receiver() as program:
        make_channel(tenant, kind="chat", url=f"ntfy://127.0.0.1:{chat.port}/topic")
        make_channel(tenant, name="program", url=program.url)
        causes = three_causes(tenant)
        look()
        send_to_channels()
        storm(causes, (3, 2, 1))
        pass_time(minutes=5)
        look()
        send_to_channels()

    assert (len(chat.requests), len(program.requests)) == (4, 6)
    assert AlertChannel.objects.filter(failed_at=None).count() == 2


def send_to_channels() -> None:
    owed: Any = Delivery.objects.filter(alert_channel__isnull=False)
    while owed.filter(status="PENDING").exists():
        before = owed.filter(status="PENDING").count()
        for delivery in owed.filter(status="PENDING").order_by("id"):
            send_delivery(delivery.id)
        assert owed.filter(status="PENDING").count() < before
