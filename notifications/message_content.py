"""The content of a message about an alert, as plain values that templates only lay out.

Called outside of any transaction just before a message is sent, so it shows the newest count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from executions.attempts import attempts_of
from executions.choices import Status
from executions.models import Attempt, DeadLetter, Execution
from executions.redacted_fields import paths_of
from executions.request_view import captured_response
from insight.presentation.execution import duration_ms
from notifications.alert_kinds import KINDS
from notifications.choices import OF_FAILURES, AlertKind
from notifications.links import MUTE, UNSUBSCRIBE, page, signed_page
from notifications.models import Alert
from notifications.plain_text import excerpt, one_line
from notifications.recipients import Recipient
from shared.clock_text import beside, clock_text, digits, zone_label, zone_of
from shared.duration_words import duration_text
from shared.payload_sight import hide, sight
from tasks.models import Task

#: The rows behind an alert: the execution, its attempts, its dead letter.
_Rows = tuple[Execution | None, Sequence[Attempt], DeadLetter | None]


@dataclass(frozen=True, slots=True)
class Line:
    """One attempt as the table shows it."""

    number: int
    started: str
    outcome: str
    answer: str
    duration: str


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a message may show; texts are printable and bounded."""

    subject: str
    headline: str
    summary: str
    facts: list[tuple[str, str]]
    attempts: list[Line]
    response: str
    next_step: str
    links: list[tuple[str, str]]
    unsubscribe_url: str
    #: The page that a click on a push opens.
    url: str
    count: int

    def context(self) -> dict[str, Any]:
        """Return the values for a template."""
        return asdict(self)


def compose(alert: Alert, recipient: Recipient, tenant_name: str) -> Content:
    """Return the content of a message about one alert, its times on the recipient's clock."""
    rows = _rows_of(alert, alert.execution_id) if alert.execution_id else (None, (), None)
    task = Task.objects.filter(pk=alert.task_id).first() if alert.task_id else None
    own, of_task = zone_of(recipient.preference.timezone), task.schedule if task else {}
    zones = timezone.override(own), beside(zone_of(of_task.get("timezone")))
    with zones[0], zones[1], sight(recipient.membership.sees_payloads):
        return _composed(alert, recipient, tenant_name, rows)


def _rows_of(alert: Alert, execution_id: UUID) -> _Rows:
    letters = DeadLetter.objects.filter(execution_id=execution_id, tenant_id=alert.tenant_id)
    execution = Execution.objects.filter(pk=execution_id).first()
    return execution, attempts_of([execution_id])[execution_id], letters.first()


def _composed(alert: Alert, recipient: Recipient, tenant_name: str, rows: _Rows) -> Content:
    execution, attempts, letter = rows
    tenant = one_line(tenant_name, 80)
    word = "recovered" if alert.recovered_at else KINDS[alert.kind].word
    return Content(
        subject=f"[{word}] {_subject(alert, tenant)}",
        headline=one_line(alert.title, 300),
        summary=_summary(alert),
        facts=_facts(alert, tenant, execution),
        attempts=[_line(attempt) for attempt in attempts[-25:]],
        response=_last_answer(attempts, execution or letter),
        next_step=_next_step(alert, execution),
        links=_links(alert, recipient, letter),
        unsubscribe_url=signed_page(UNSUBSCRIBE, recipient.membership.pk),
        url=page(
            f"/executions/{alert.execution_id}"
            if alert.count == 1 and alert.execution_id
            else f"/alerts/{alert.id}"
        ),
        count=alert.count,
    )


def compose_bundle(alerts: Sequence[Alert], recipient: Recipient, tenant_name: str) -> Content:
    """Return the content of one message about the many alerts of a burst."""
    tenant = one_line(tenant_name, 80)
    many, count = len(alerts), sum(alert.count for alert in alerts)
    since = clock_text(min(alert.first_at for alert in alerts))
    word, counted, said = "alert", "", f"{many} alerts came since {since}"
    head, next_step = f"{many} more alerts", "Open the list of alerts to see what they are about."
    if all(alert.recovered_at for alert in alerts):
        word, said = "recovered", f"{many} alerts are over"
        head, next_step = said, "No action is needed. The list of alerts shows what was counted."
    elif all(alert.kind in OF_FAILURES and not alert.recovered_at for alert in alerts):
        word, counted = "failed", f": {count} failures"
        said = f"{count} failures of {many} causes came since {since}"
        next_step = "Open the list of alerts to see what the causes have in common."
        if all(alert.notice_number > 1 for alert in alerts):
            head = f"{many} alerts continue"
    return Content(
        subject=f"[{word}] {many} alerts ({tenant}){counted}",
        headline=f"{head} in {tenant}",
        summary=f"{said}; this message covers them all.",
        facts=[(one_line(alert.cause, 120), one_line(alert.title, 200)) for alert in alerts[:50]],
        attempts=[],
        response="",
        next_step=next_step,
        links=[("Alerts", page("/alerts")), ("Dead letters", page("/dead-letters"))],
        unsubscribe_url=signed_page(UNSUBSCRIBE, recipient.membership.pk),
        url=page("/alerts"),
        count=count,
    )


def _subject(alert: Alert, tenant: str) -> str:
    cause = one_line(alert.cause, 150)
    if alert.kind not in OF_FAILURES:
        about = one_line(alert.task_name, 80) or "Alert"
        return f"{about} ({tenant}): {cause}"
    name = one_line(alert.task_name, 80)
    if alert.count > 1:
        what = name if alert.task_count <= 1 else f"{alert.task_count} tasks"
        return f"{alert.count} failures: {what} ({tenant}): {cause}"
    attempts = "attempt" if alert.attempt == 1 else "attempts"
    return f"{name} ({tenant}): {cause} after {alert.attempt} {attempts}"


def _summary(alert: Alert) -> str:
    if alert.recovered_at is not None:
        return f"This is over since {clock_text(alert.recovered_at)}."
    if alert.kind not in OF_FAILURES:
        return f"Told because {KINDS[alert.kind].opens}."
    if alert.kind == AlertKind.FIRST_FAILURE:
        goes_on = "The first attempt failed; Punctual tries again by the task's retry policy."
        many = f"The first attempt of {alert.count} executions failed; they are tried again."
    else:
        goes_on = "No attempt is left; the execution is in the dead letters."
        many = f"{alert.count} executions failed for good; they are in the dead letters."
    return many if alert.count > 1 else goes_on


def _facts(alert: Alert, tenant: str, execution: Execution | None) -> list[tuple[str, str]]:
    facts = [("Tenant", tenant)]
    if alert.task_count > 1:
        facts.insert(0, ("Tasks", f"{alert.task_count}, first {one_line(alert.task_name)}"))
    elif alert.task_name:
        facts.insert(0, ("Task", one_line(alert.task_name)))
    facts.append(("Cause", one_line(alert.cause, 300)))
    if alert.error_message:
        facts.append(("Error", excerpt(one_line(hide(alert.error_message), 600), 400)))
    if execution is not None:
        facts.append(("Scheduled for", clock_text(execution.scheduled_for)))
    of_failures = alert.kind in OF_FAILURES
    facts.append(("Failed" if of_failures else "Since", clock_text(alert.first_at)))
    if alert.count > 1:
        count = "Failures" if of_failures else "Count"
        facts += [(count, str(alert.count)), ("Latest", clock_text(alert.last_at))]
    if alert.recovered_at is not None:
        facts.append(("Recovered", clock_text(alert.recovered_at)))
    return facts


def _line(attempt: Attempt) -> Line:
    taken = duration_ms(attempt.started_at, attempt.finished_at)
    started = attempt.started_at or attempt.finished_at
    answer = f"HTTP {attempt.response_status}" if attempt.response_status else attempt.error_code
    return Line(
        number=attempt.number,
        started=f"{digits(started)} {zone_label(started)}",
        outcome=str(attempt.outcome),
        answer=answer or "-",
        duration=duration_text(taken),
    )


def _last_answer(attempts: Sequence[Attempt], of: Execution | DeadLetter | None) -> str:
    redact = paths_of(of.task_id, of.revision) if of else []
    for attempt in reversed(attempts) if of else ():
        found = captured_response(attempt, redact)
        if found is not None:
            return excerpt(found["body"])
    return ""


def _next_step(alert: Alert, execution: Execution | None) -> str:
    if alert.recovered_at is not None:
        return "No action is needed. The page of the alert shows what was counted."
    if alert.kind not in OF_FAILURES:
        return "Open the alert to see what it is about."
    if alert.kind == AlertKind.FIRST_FAILURE:
        if execution is not None and execution.status == Status.RETRYING:
            number, at = execution.attempt + 1, clock_text(execution.due_at)
            return f"Attempt {number} of {execution.max_attempts} follows at {at}."
        return "No action is needed now. The page of the execution shows how it continued."
    return "Fix the cause, then retry from the dead letters."


def _links(alert: Alert, recipient: Recipient, letter: DeadLetter | None) -> list[tuple[str, str]]:
    links = [
        ("Execution", page(f"/executions/{alert.execution_id}"))
        if alert.execution_id
        else ("Alert", page(f"/alerts/{alert.id}"))
    ]
    if letter is not None:
        links.append(("Dead letter, with retry", page(f"/dead-letters/{letter.id}")))
    return [
        *links,
        ("All alerts", page("/alerts")),
        ("Mute this alert for 1 hour", signed_page(MUTE, recipient.membership.pk, alert.id)),
        ("Notification settings", page("/settings")),
    ]
