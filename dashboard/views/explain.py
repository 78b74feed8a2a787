"""Explain and occurrences: why an instant ran or did not, and every expected one of a task."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from dashboard.access import ConsoleRequest, page
from dashboard.fields import instant_of
from dashboard.listing import PAGE_ROWS
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.answer import Check, Explanation, Fix
from insight.explain.explanation import explain_execution, explain_task
from insight.explain.reasons import meaning_of
from insight.occurrences import EXPECTED, place_of, read_lines, read_occurrences
from insight.presentation.occurrences import present_line
from shared.clock_text import beside, field_text, zone_of
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.models import Task
from tenants.choices import Role

_LONGEST = 1000
#: The colour of a verdict by its state; others are a warning.
_TONES = {"ran": "success", "runs": "info", "will_run": "info", "not_expected": "info"}
#: The words of a check's mark; '' for a check that was not reached or does not apply.
_MARKS = {True: "passed", False: "did not pass", None: ""}
#: Mark of a check -> its class and its word in the overview of all conditions.
_STATES = {
    "passed": ("passed", "holds"),
    "not yet": ("open", "not yet"),
    "did not pass": ("failed", "does not hold"),
    "": ("unasked", "not asked"),
}


@page(Role.VIEWER)
def execution_explain(request: ConsoleRequest, execution_id: UUID) -> HttpResponse:
    """Explain one execution."""
    found = Execution.objects.get_for_tenant(request.visitor.tenant.pk, execution_id)
    task = Task.objects.for_tenant(found.tenant_id).filter(pk=found.task_id).first()
    with beside(_zone(task)):
        explained = explain_execution(found, database_now())
    return _explained(request, explained, task, by_instant=False)


@page(Role.VIEWER)
def task_explain(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Explain an instant of a task; without one, the most urgent one."""
    task = Task.objects.get_for_tenant(request.visitor.tenant.pk, task_id)
    with beside(_zone(task)):
        found = explain_task(task, _instant(request, "at"), database_now())
    return _explained(request, found, task, by_instant=True)


@page(Role.VIEWER)
def task_occurrences(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """List every expected instant of a range, long stretches as one line unless asked."""
    task = Task.objects.get_for_tenant(request.visitor.tenant.pk, task_id)
    now, expanded = database_now(), request.GET.get("spans") == "instants"
    place = place_of(
        task,
        since=_instant(request, "from"),
        until=_instant(request, "to"),
        cursor=_text(request, "cursor") or None,
        now=now,
    )
    read = read_occurrences if expanded else read_lines
    found = read(task, place, PAGE_ROWS, now=now)
    rows = [present_line(entry) for entry in found.entries]
    words = sorted({row["reason"] for row in rows if row["reason"]})
    return render(
        request,
        "dashboard/occurrences.html",
        {
            "task": task,
            "task_zone": _zone(task),
            "rows": rows,
            "reasons": [(word, meaning_of(word)) for word in words],
            "expected": EXPECTED,
            "since": _local(place.since),
            "until": _local(place.until),
            "expanded": expanded,
            "is_first": _text(request, "cursor") == "",
            "next_cursor": found.next_cursor,
        },
    )


def _zone(task: Task | None) -> tzinfo:
    return zone_of(task.schedule.get("timezone") if task else None)


def _explained(
    request: ConsoleRequest, found: Explanation, task: Task | None, *, by_instant: bool
) -> HttpResponse:
    blocker = found.first_blocker
    shown = [_check(check, first=check is blocker) for check in found.checks]
    return render(
        request,
        "dashboard/explain.html",
        {
            "found": found,
            "part": found.part,
            "tone": _tone(found),
            "blocker": _check(blocker, first=True) if blocker else None,
            "matrix": [_condition(check, first=check is blocker) for check in found.checks],
            "asked": [check for check in shown if check["mark"]],
            "not_asked": [check for check in shown if not check["mark"]],
            "at": _local(found.asked_at),
            "at_iso": format_instant(found.scheduled_for),
            "by_instant": by_instant,
            "task_is_kept": task is not None,
            "task_zone": _zone(task),
        },
    )


def _tone(found: Explanation) -> str:
    if found.state == "ran" and found.first_blocker is not None:
        return "error"
    return _TONES.get(found.state, "warning")


def _check(check: Check, *, first: bool) -> dict[str, Any]:
    return {
        "name": check.name.replace("_", " "),
        "mark": "not yet" if check.not_yet else _MARKS[check.ok],
        "evidence": check.evidence,
        "first": first,
        "fix": check.fix,
        "url": _url(check.fix) if check.fix else "",
    }


def _condition(check: Check, *, first: bool) -> dict[str, Any]:
    """Return a condition for the overview of all: its name, and whether it holds."""
    state, word = _STATES["not yet" if check.not_yet else _MARKS[check.ok]]
    return {"name": check.name.replace("_", " "), "state": state, "word": word, "first": first}


def _url(fix: Fix) -> str:
    """Return the page for the remedy; '' without one."""
    if not fix.page:
        return ""
    try:
        return reverse(f"dashboard:{fix.page}", args=[fix.subject] if fix.subject else [])
    except NoReverseMatch:
        return ""


def _text(request: ConsoleRequest, name: str) -> str:
    text = request.GET.get(name, "").strip()
    if len(text) > _LONGEST or "\x00" in text:
        raise InvalidInput([FieldError(f"?{name}", "invalid", "This is not understood.")])
    return text


def _instant(request: ConsoleRequest, name: str) -> datetime | None:
    text = _text(request, name)
    if not text:
        return None
    try:
        return instant_of(text, timezone.get_current_timezone())
    except ValueError as error:
        message = "Give a date and time, such as 2026-11-20T08:00."
        raise InvalidInput([FieldError(f"?{name}", "invalid", message)], message) from error


def _local(moment: datetime) -> str:
    """Return a moment as a field for date and time takes it, in the visitor's zone."""
    return field_text(moment)
