"""Backfill: a range of a task's past, the exact plan, then the job that runs it again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta, tzinfo
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import instant_of, read_text
from dashboard.views.bulk_jobs import is_typed, require_typed
from executions.bulk.backfill import (
    DEFAULT_PARALLEL,
    MAX_PARALLEL,
    Plan,
    Wanted,
    create_backfill,
    plan_backfill,
)
from executions.bulk.backfill_steps import ACTION
from executions.loop.clocks import database_now
from shared.clock_text import field_text
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.instants import format_instant
from tasks.models import Task
from tasks.schedules.zones import find_zone
from tenants.choices import Role

_FIELDS = ("start", "end", "max_parallel", "overlap_policy")
_A_DAY = timedelta(days=1)


@page(Role.OPERATOR)
def task_backfill(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Ask for a range; with one, show the exact plan before anything runs."""
    tenant = request.visitor.tenant.pk
    task: Task = Task.objects.get_for_tenant(tenant, task_id)
    zone = find_zone(task.schedule["timezone"]).info
    asked = "start" in request.GET
    fields = {name: request.GET.get(name, "").strip() for name in _FIELDS}
    if not asked:
        fields |= _first_fields(zone)
    errors: dict[str, str] = {}
    plan, wanted, refusal = None, None, ""
    try:
        if asked:
            wanted = _wanted(fields, zone)
            plan = plan_backfill(tenant, task_id, wanted)
    except InvalidInput as error:
        errors = {item.pointer.removeprefix("#/"): item.message for item in error.errors}
    except Conflict as error:
        refusal = error.message
    return render(
        request,
        "dashboard/task_backfill.html",
        {
            "task": task,
            "zone_hint": f"In {task.schedule['timezone']}, the zone of the task.",
            "fields": fields,
            "errors": errors,
            "refusal": refusal,
            "policies": _POLICIES,
            "limits": {
                "default": DEFAULT_PARALLEL,
                "parallel": f"1 to {MAX_PARALLEL:,}. Empty: {DEFAULT_PARALLEL}, or fewer where the "
                "task sets a limit.",
            },
            **(_shown(plan, wanted, zone) if plan and wanted else {}),
        },
    )


@action(Role.OPERATOR)
def begin(request: ConsoleRequest, task_id: UUID) -> Done:
    """Begin the backfill, if its instants are still the shown ones."""
    visitor = request.visitor
    count = require_typed(request, ACTION)
    zone = find_zone("UTC").info
    fields = {name: request.POST.get(name, "").strip() for name in _FIELDS}
    job = create_backfill(
        visitor.tenant.pk,
        task_id,
        _wanted(fields, zone),
        actor=visitor.actor,
        name=read_text(request, "name", longest=200),
        expected_count=count,
    )
    url = reverse("dashboard:bulk_job", args=[job.pk])
    return Done("Requested. Progress below.", url, settled=False)


#: The choices of the form; without a choice the task's own policy applies.
_POLICIES = (
    ("", "as the task says"),
    ("allow", "beside each other"),
    ("queue_all", "one after the other"),
)


def _first_fields(zone: tzinfo) -> dict[str, str]:
    now = database_now()
    return {
        "start": field_text(now - _A_DAY, zone),
        "end": field_text(now, zone),
    }


def _wanted(fields: Mapping[str, str], zone: tzinfo) -> Wanted:
    errors: list[FieldError] = []
    moments: dict[str, Any] = {}
    for name in ("start", "end"):
        try:
            moments[name] = instant_of(fields[name], zone)
        except ValueError:
            message = "Give a date and time like 2026-11-20 08:00."
            errors.append(FieldError(f"#/{name}", "invalid_time", message))
    text = fields["max_parallel"]
    most = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
    if text and most is None:
        errors.append(FieldError("#/max_parallel", "invalid_type", "Give a whole number."))
    if errors:
        raise InvalidInput(errors)
    return Wanted(**moments, max_parallel=most, overlap_policy=fields["overlap_policy"] or None)


def _shown(plan: Plan, wanted: Wanted, zone: tzinfo) -> dict[str, Any]:
    return {
        "plan": plan,
        "task_zone": zone,
        "first": plan.instants[0].at,
        "last": plan.instants[-1].at,
        "sample": plan.sample,
        "estimated_ms": None if plan.estimated_seconds is None else plan.estimated_seconds * 1000,
        "is_typed": is_typed(ACTION, plan.count),
        "chosen": {
            "start": format_instant(wanted.start),
            "end": format_instant(wanted.end),
            "max_parallel": plan.max_parallel,
            "overlap_policy": plan.overlap_policy,
            "expected_count": plan.count,
        },
    }
