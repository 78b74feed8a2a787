"""The live preview beside the task's form: the schedule in words, its next fires, the changes.

A new task shows its next ten fires. An edited task also shows how many of its next hundred the
edit keeps, adds and removes. The page asks for these fragments during typing; they change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from dashboard.access import ConsoleRequest, page
from dashboard.task_form.form import judge_schedule
from dashboard.task_form.schedule import SHOWN, expression_of
from executions.loop.clocks import database_now
from insight.forecast.what_if import compare
from insight.task_fires import clock_changes_of
from shared.exceptions import InvalidInput
from shared.instants import parse_instant
from tasks.calendars import book, limits_of
from tasks.definition import Definition, to_long
from tasks.models import Task
from tasks.preview import preview
from tasks.revisions import read_definition
from tasks.schedules.notes import NOTE_TEXTS
from tasks.validation.bodies import parse_replace
from tenants.choices import Role

_FIRES = 10
_REMOVED = 5


@require_POST
@page(Role.VIEWER)
def schedule_preview(request: ConsoleRequest) -> HttpResponse:
    """Show the form's schedule in words, with its next ten fires and the changes of an edit."""
    # The former preview says nothing to the next one.
    fields = {name: text for name, text in form_fields(request).items() if name != SHOWN}
    now = database_now()
    shown: dict[str, Any]
    try:
        edited = _edited(request, fields)
        shown = _changed(edited, fields, now) if edited else _new(request, fields, now)
    except InvalidInput as refused:
        # An untouched form is not wrong.
        box = {"cron": "cron_expression", "words": "words"}.get(fields.get("when", ""))
        is_empty = bool(box) and not (fields.get("version") or fields.get(box or "", "").strip())
        shown = {"is_empty": is_empty, "errors": [error.message for error in refused.errors]}
    shown |= {"zone": fields.get("timezone", "UTC"), "words": fields.get("words", "").strip()}
    return render(request, "dashboard/_schedule_preview.html", shown)


def form_fields(request: ConsoleRequest) -> dict[str, str]:
    """Return the fields of the form; ``calendars`` has one name per line."""
    fields = {name: cast(str, value) for name, value in request.POST.items()}
    calendars = cast(list[str], request.POST.getlist("calendars"))
    return fields | ({"calendars": "\n".join(calendars)} if calendars else {})


def _edited(request: ConsoleRequest, fields: Mapping[str, str]) -> Task | None:
    """Return the task that the form edits, None for a new one."""
    if not fields.get("version"):
        return None
    try:
        wanted = UUID(fields.get("base_of", ""))
    except ValueError:
        return None
    task: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, wanted)
    return task


def _new(request: ConsoleRequest, fields: Mapping[str, str], now: datetime) -> dict[str, Any]:
    calendars = book(request.visitor.tenant.pk)
    expression = ""

    def judge(body: Any) -> dict[str, Any]:
        nonlocal expression
        expression = expression_of(body["schedule"])
        return preview({**body, "count": _FIRES}, now=now, calendars=calendars)

    found = judge_schedule(fields, None, judge)
    fires = [_fire(one) for one in found["occurrences"]]
    return {
        "text": found["text"],
        "expression": expression if fields.get("when") == "words" else "",
        "clock_changes": found["clock_changes"],
        "fires": fires,
        "per_day": _per_day(fires),
    }


def _changed(task: Task, fields: Mapping[str, str], now: datetime) -> dict[str, Any]:
    before = read_definition(task)
    current = to_long(before)
    limits = limits_of(task.tenant_id)

    def judge(body: Any) -> Definition:
        whole = {**current, **body}
        # The kind of schedule decides the type, and the edit may have changed it.
        del whole["type"]
        return parse_replace(whole, now=now, limits=limits, current=before)

    definition = judge_schedule(fields, current, judge)
    found = compare(task, definition, now=now)
    compared = found["occurrences"]
    kept = sum(one["change"] == "kept" for one in compared)
    busiest = found["busiest_minute"]
    return {
        "text": found["text"],
        "expression": expression_of(definition.schedule) if fields.get("when") == "words" else "",
        "clock_changes": clock_changes_of(task, definition.schedule, now=now),
        "text_before": found["text_before"] if found["text_before"] != found["text"] else "",
        "fires": [{**_fire(one), "is_new": one["change"] == "added"} for one in compared[:_FIRES]],
        "compared": len(compared),
        "kept": kept,
        "added": len(compared) - kept,
        "removed": len(found["removed"]),
        "removed_first": [parse_instant(at) for at in found["removed"][:_REMOVED]],
        "is_same": kept == len(compared) and not found["removed"],
        "per_day": _spoken(found["runs_per_day"]["after"]),
        "per_day_before": _spoken(found["runs_per_day"]["before"]),
        "busiest_at": parse_instant(busiest["at"]) if busiest and busiest["others"] else None,
        "busiest_others": busiest["others"] if busiest else 0,
    }


def _fire(occurrence: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "at": parse_instant(occurrence["utc"]),
        "local_day": occurrence["local"][:10],
        "local_time": occurrence["local"][11:19],
        # An existing task has an exact time, a new one only a range.
        "due_at": parse_instant(occurrence.get("due_at", occurrence["utc"])),
        "due_until": parse_instant(occurrence.get("due_until", occurrence["utc"])),
        "notes": [NOTE_TEXTS.get(note, note) for note in occurrence["notes"]],
    }


def _per_day(fires: Sequence[Mapping[str, Any]]) -> str:
    """Return the runs per day at the pace of the shown fires; "" for too few of them."""
    if len(fires) < _FIRES:
        return ""
    seconds = (fires[-1]["at"] - fires[0]["at"]).total_seconds()
    return _spoken((len(fires) - 1) * 86400 / seconds if seconds > 0 else None)


def _spoken(count: float | None) -> str:
    if count is None:
        return ""
    return f"{count:,.0f}" if count >= 10 else f"{count:.2g}"
