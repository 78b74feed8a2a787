"""``manage.py notify``: a real test message, and the delivery log."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications.notices import plan_due_notices
from notifications.services.push_subscriptions import subscribe
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.notifications.conftest import vapid, woken  # noqa: F401 - no real broker
from tests.support.alerts import make_alert
from tests.support.command_documents import read_document
from tests.support.push_sink import PushSink
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)


def notify(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    call_command("notify", *words, "--json")
    return read_document(f"notify-{words[0]}", capsys.readouterr().out)


def test_a_test_mail_goes_out_and_its_result_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_member(make_tenant())
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        printed = notify(capsys, "test", "email", "--member", "ada@example.com")

    assert printed == {"schema": 1, "channel": "email", "sent": True, "to": "ada@example.com"}
    assert len(sink.messages) == 1


def test_a_message_that_does_not_go_out_ends_with_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_member(make_tenant())
    use_smtp(monkeypatch, free_port())

    with pytest.raises(SystemExit) as ended:
        notify(capsys, "test", "email", "--member", "ada")

    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["sent"] is False


@pytest.mark.parametrize(("words", "code"), [(("eve",), 3), (("ada",), 2)], ids=["none", "two"])
def test_a_name_must_fit_one_member(words: tuple[str], code: int) -> None:
    first, second = make_tenant("Alpha"), make_tenant("Beta")
    member = make_member(first)
    type(member).objects.create(user=member.user, tenant=second, role="viewer")

    with pytest.raises(CommandError) as caught:
        call_command("notify", "test", "email", "--member", *words)

    assert caught.value.returncode == code


def test_the_log_lists_the_latest_deliveries_of_a_tenant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tenant = make_tenant("Alpha")
    make_member(tenant, email="")
    make_alert(tenant)
    plan_due_notices()

    printed = notify(capsys, "log", "--tenant", "Alpha", "--status", "suppressed")

    assert [row["reason"] for row in printed["deliveries"]] == ["no_address"]
    make_tenant("Beta")
    assert notify(capsys, "log", "--tenant", "Beta")["deliveries"] == []


def test_an_alert_is_muted_and_heard_again(capsys: pytest.CaptureFixture[str]) -> None:
    alert = make_alert(make_tenant())

    assert notify(capsys, "mute", str(alert.pk), "--minutes", "60")["muted_until"] is not None
    assert notify(capsys, "mute", str(alert.pk), "--minutes", "0")["muted_until"] is None


def test_what_is_no_alert_is_not_muted() -> None:
    with pytest.raises(CommandError) as caught:
        call_command("notify", "mute", "00000000-0000-0000-0000-000000000000")

    assert caught.value.returncode == 3


def test_preferences_are_shown_and_changed(capsys: pytest.CaptureFixture[str]) -> None:
    make_member(make_tenant())
    before = notify(capsys, "preferences", "--member", "ada")

    after = notify(
        capsys, "preferences", "--member", "ada", "--push", "--email", "final_failure",
        "--quiet-hours", "22:00-07:00",
    )  # fmt: skip

    assert (after["email_events"], after["push_events"]) == (["final_failure"], [])
    assert (after["quiet_from"], after["console_events"]) == ("22:00", before["console_events"])
    ended = notify(capsys, "preferences", "--member", "ada", "--quiet-hours", "none")
    assert ended["quiet_from"] is None


@pytest.mark.parametrize("quiet", ["22:00", "x-y", "25:00-07:00"])
def test_quiet_hours_are_two_times(quiet: str) -> None:
    make_member(make_tenant())

    with pytest.raises(CommandError) as caught:
        call_command("notify", "preferences", "--member", "ada", "--quiet-hours", quiet)

    assert caught.value.returncode == 2


@pytest.mark.usefixtures("vapid")
def test_browsers_are_listed_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    tenant = make_tenant()
    made = subscribe(
        tenant.id,
        make_member(tenant).pk,
        endpoint="https://push.example.com/browser-1",
        actor=ACTOR,
        **PushSink().keys,
    )

    [row] = notify(capsys, "browsers")["push_subscriptions"]

    assert (row["id"], row["push_service"]) == (str(made.pk), "push.example.com")
    assert notify(capsys, "browsers", "--remove", str(made.pk))["push_subscriptions"] == []


def test_an_alert_is_acknowledged_and_assigned(capsys: pytest.CaptureFixture[str]) -> None:
    tenant = make_tenant()
    member, alert = make_member(tenant), str(make_alert(tenant).pk)

    assert notify(capsys, "acknowledge", alert)["acknowledged"] is True
    assert notify(capsys, "acknowledge", alert, "--withdraw")["acknowledged"] is False
    assert notify(capsys, "assign", alert, "--member", "ada")["assignee"] == member.pk
    assert notify(capsys, "assign", alert)["assignee"] is None
