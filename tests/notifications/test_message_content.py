"""What a message says."""

from __future__ import annotations

import base64
import re

import pytest
from django.utils import timezone

from executions.models import Attempt, Execution
from notifications.alerter import Alerter
from notifications.layout import mail_of, push_of
from notifications.message_content import Content, compose, compose_bundle
from notifications.models import Alert
from notifications.recipients import recipient_of
from shared.clock_text import beside, clock_text, zone_of
from shared.encryption import seal_json
from shared.ids import new_id
from shared.payload_sight import HIDDEN
from tasks.models import Task
from tenants.models import Membership
from tests.factories import make_tenant
from tests.notifications.cast import begin, fail, make_member, retry
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def content_of(
    name: str = "nightly-invoice", *, answer: bytes = b"", first: bool = False
) -> Content:
    tenant = make_tenant("acme")
    member = make_member(tenant)
    begin()
    [execution] = retry(tenant) if first else fail(tenant)
    # Past the validation that refuses such names: a message must not rely on it.
    Task.objects.filter(pk=execution.task_id).update(name=name)
    if answer:
        _capture(execution, answer)
    Alerter().run_once()
    recipient = recipient_of(member.pk)
    assert recipient is not None
    return compose(Alert.objects.get(), recipient, tenant.name)


def test_a_message_says_what_when_why_and_what_to_do() -> None:
    content = content_of(answer=b'{"error": "no <b>database</b>", "token": "s3cr3t"}')

    facts = dict(content.facts)
    assert facts["Task"] == "nightly-invoice"
    assert facts["Cause"] == "HTTP 503 from api.example.com"
    assert facts["Failed"].endswith("UTC")
    assert content.attempts[0].answer == "HTTP 503"
    assert "no <b>database</b>" in content.response
    assert "s3cr3t" not in content.response
    assert "dead letters" in content.next_step
    assert [name for name, _ in content.links] == [
        "Execution",
        "Dead letter, with retry",
        "All alerts",
        "Mute this alert for 1 hour",
        "Notification settings",
    ]


def test_a_first_failure_says_when_it_goes_on() -> None:
    content = content_of(first=True)

    assert content.subject.startswith("[failing] nightly-invoice (acme)")
    assert content.next_step.startswith("Attempt 2 of 5 follows at ")


def test_names_with_newlines_stay_in_the_subject_and_markup_stays_text() -> None:
    content = content_of('x\r\nBcc: eve@example.com <img src="http://evil.example/p">')

    mail = mail_of(content, "ada@example.com", "<1@x>", new_id())

    assert "\n" not in mail.subject
    assert "\r" not in mail.subject
    assert "<img" not in mail.html
    assert "&lt;img" in mail.html


def test_the_html_loads_nothing_from_elsewhere() -> None:
    mail = mail_of(content_of(answer=b"<script>x</script>"), "a@example.com", "<1@x>", new_id())

    assert not re.search(r"<(script|img|link|iframe|object)|url\(|@import", mail.html)
    assert "&lt;script&gt;" in mail.html
    assert "<script>x</script>" in mail.text


def test_a_push_is_a_title_a_line_and_a_link() -> None:
    content = content_of()

    message = push_of(content, Alert.objects.get())

    assert message.title.startswith("[failed] nightly-invoice (acme)")
    assert message.url.endswith(f"/executions/{Alert.objects.get().execution_id}")
    assert message.urgent
    assert len(message.encode()) < 3000


def test_a_bundle_names_each_cause() -> None:
    tenant = make_tenant("acme")
    recipient = recipient_of(make_member(tenant).pk)
    assert recipient is not None
    begin()
    fail(tenant, status=500)
    fail(tenant, status=404)
    Alerter().run_once()

    content = compose_bundle(list(Alert.objects.all()), recipient, tenant.name)

    assert content.subject == "[failed] 2 alerts (acme): 2 failures"
    assert {cause for cause, _ in content.facts} == {
        "HTTP 404 from api.example.com",
        "HTTP 500 from api.example.com",
    }


def test_a_bundle_of_other_alerts_or_of_ends_speaks_of_no_failures() -> None:
    tenant = make_tenant("acme")
    recipient = recipient_of(make_member(tenant).pk)
    assert recipient is not None
    alerts = [make_alert(tenant, kind="final_failure"), make_alert(tenant, kind="quota_near")]

    assert compose_bundle(alerts, recipient, "acme").subject == "[alert] 2 alerts (acme)"
    for alert in alerts:
        alert.recovered_at = alert.last_at
    over = compose_bundle(alerts, recipient, "acme")
    assert over.subject == "[recovered] 2 alerts (acme)"
    assert over.headline == "2 alerts are over in acme"
    assert "fail" not in over.summary + over.next_step


def test_a_push_of_an_urgent_alert_is_urgent() -> None:
    content, alert = content_of(first=True), Alert.objects.get()
    assert not push_of(content, alert).urgent

    alert.urgent = True

    assert push_of(content, alert).urgent


def test_times_are_on_the_recipients_clock_and_beside_it_on_the_tasks() -> None:
    tenant = make_tenant("acme")
    member = make_member(tenant)
    begin()
    fail(tenant)
    Alerter().run_once()
    alert = Alert.objects.get()
    recipient = recipient_of(member.pk)
    assert recipient is not None
    Task.objects.update(schedule={"timezone": "Asia/Tokyo"})
    recipient.preference.timezone = "America/New_York"

    content = compose(alert, recipient, tenant.name)

    told = dict(content.facts)
    with timezone.override("America/New_York"), beside(zone_of("Asia/Tokyo")):
        assert told["Failed"] == clock_text(alert.first_at)
    assert re.search(r" E[SD]T \((\S+ )?\S+ JST\)$", told["Failed"])
    assert all(re.search(r" E[SD]T$", line.started) for line in content.attempts)


def _capture(execution: Execution, body: bytes) -> None:
    captured = {
        "headers": [["content-type", "text/plain"]],
        "body": base64.b64encode(body).decode(),
        "truncated": False,
        "address": "192.0.2.1",
    }
    sealed = seal_json(captured, f"response:{execution.id}".encode())
    Attempt.objects.filter(execution_id=execution.id).update(sealed_response=sealed)


def test_a_member_without_the_right_to_see_payloads_gets_no_answer_and_no_text_of_an_error() -> (
    None
):
    content_of(answer=b"no database")
    Alert.objects.update(error_message="canary")
    Membership.objects.update(role="viewer", sees_payloads=False)
    recipient = recipient_of(Membership.objects.get().pk)
    assert recipient is not None

    content = compose(Alert.objects.get(), recipient, "acme")

    assert content.response == HIDDEN
    assert dict(content.facts)["Error"] == HIDDEN
    assert "canary" not in str(content.context())
