"""Two senders and two alerters at once: one message, one count."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connections

from notifications.alerter import Alerter
from notifications.models import Alert, Delivery
from notifications.services import deliveries
from notifications.services.deliveries import send_delivery
from tests.factories import make_tenant
from tests.notifications.cast import begin, fail, make_member, pass_time
from tests.support.smtp_sink import SmtpSink, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)
_AT_ONCE = 6


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "wake_sender", lambda delivery_id: None)


def at_once(work: Callable[[], object]) -> list[object]:
    """Run the work in several threads that start together; return the answers."""
    answers: list[object] = []
    barrier = threading.Barrier(_AT_ONCE)

    def run() -> None:
        barrier.wait()
        try:
            answers.append(work())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_many_alerters_count_each_failure_once_and_plan_one_notice() -> None:
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant, 20)

    at_once(lambda: Alerter().run_once())
    pass_time(seconds=1)
    at_once(lambda: Alerter().run_once())

    assert Alert.objects.get().count == 20
    assert Delivery.objects.filter(channel="email").count() == 1


def test_many_senders_of_one_delivery_send_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    make_member(tenant)
    begin()
    fail(tenant)
    Alerter().run_once()
    pass_time(seconds=1)
    Alerter().run_once()
    delivery = Delivery.objects.get(channel="email")

    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        answers = at_once(lambda: send_delivery(delivery.id))

    assert sorted(answers, key=str) == [None] * (_AT_ONCE - 1) + ["SENT"]
    assert len(sink.messages) == 1
