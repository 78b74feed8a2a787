"""Test messages show the real result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from notifications.limits import MOST_TESTS, TooManyMessages
from notifications.models import NotificationPreference
from notifications.services import trials
from notifications.services.push_subscriptions import subscribe
from notifications.services.trials import send_trial
from notifications.transports.errors import TransportError
from shared.exceptions import NotFound
from tenants.suspension import TenantSuspended
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.push_sink import PushSink, push_service
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db


def test_a_test_mail_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        assert send_trial(make_member(make_tenant()), "email", actor=ACTOR) == "ada@example.com"

    assert sink.messages[0]["Subject"] == "[test] Punctual can reach you"


def test_a_mail_server_that_is_away_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    use_smtp(monkeypatch, free_port())

    with pytest.raises(TransportError, match="cannot be reached"):
        send_trial(make_member(make_tenant()), "email", actor=ACTOR)


@pytest.mark.parametrize(("channel", "why"), [("email", "no e-mail"), ("push", "No browser")])
def test_what_a_member_lacks_is_said(channel: str, why: str) -> None:
    member = make_member(make_tenant(), email="")

    with pytest.raises(TransportError, match=why):
        send_trial(member, channel, actor=ACTOR)


@pytest.mark.usefixtures("vapid")
def test_a_test_push_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = replace(settings.PUNCTUAL, webhook_allowed_networks=("127.0.0.0/8",))
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)
    tenant = make_tenant()
    member = make_member(tenant)
    with push_service(PushSink()) as sink:
        subscribe(tenant.id, member.pk, endpoint=sink.url, actor=ACTOR, **sink.keys)
        assert send_trial(member, "push", actor=ACTOR) == "1 of 1 browsers"

    assert sink.opened[0]["title"] == "Punctual can reach you"


def test_a_test_toast_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(trials, "publish_alert", lambda tenant, **alert: shown.append(alert))

    send_trial(make_member(make_tenant()), "console", actor=ACTOR)

    assert shown[0]["severity"] == "info"


def test_an_inactive_member_is_not_found() -> None:
    with pytest.raises(NotFound):
        send_trial(make_member(make_tenant(), is_active=False), "email", actor=ACTOR)


def test_tests_are_few_unless_the_operator_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "publish_alert", lambda tenant, **alert: None)
    member = make_member(make_tenant())
    for _ in range(MOST_TESTS):
        send_trial(member, "console", actor=ACTOR)

    for channel in ("console", "email", "push"):
        with pytest.raises(TooManyMessages):
            send_trial(member, channel, actor=ACTOR)

    send_trial(member, "console", actor=ACTOR, limited=False)


def test_a_test_mail_does_not_go_to_an_address_that_nobody_has_confirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    member = make_member(make_tenant())
    NotificationPreference.objects.create(membership=member, email_address="other@example.com")
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        assert send_trial(member, "email", actor=ACTOR) == "ada@example.com"

    assert sink.envelopes == [["ada@example.com"]]


@pytest.mark.parametrize("channel", ["email", "push", "console"])
def test_no_test_message_leaves_for_a_suspended_tenant(channel: str) -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    suspend(tenant)

    with pytest.raises(TenantSuspended):
        send_trial(member, channel, actor=ACTOR, limited=False)
