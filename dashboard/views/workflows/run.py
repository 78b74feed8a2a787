"""One run of a workflow: its graph, its times, its steps; and one step with its items."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.pagination import paginate_numbers
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from dashboard.payload_form import pretty
from dashboard.step_facts import (
    DIRECTION,
    DIRECTIONS,
    bars_of,
    begins_when,
    dag_of,
    facts_of,
    in_order,
    path_of,
    run_url,
)
from executions.choices import FINAL, RunPhase, Status
from executions.loop.clocks import database_now
from insight.presentation.execution import duration_ms
from insight.presentation.workflow_runs import present_items, present_seen, present_step
from insight.run_waits import waits_of, waits_text
from insight.workflow_runs import SeenRun, find_take, item_total_of, number_of, see
from tasks.models import Task
from tasks.validation.workflow import workflow_fields
from tenants.choices import Role

#: Approvals that are shown on top of a run's page.
_APPROVALS = 10
_ITEMS = 50
_REASONS = {
    "paused": "It is paused: no step begins until it is resumed.",
    "step_failed": "A step has failed.",
    "cancel_requested": "It is being cancelled: no step begins, and running ones are told to end.",
    "deadline_exceeded": "Its deadline has passed.",
    "compensating": "It has failed, and what has succeeded is undone.",
}


@page(Role.VIEWER)
def run(request: ConsoleRequest, run_id: UUID) -> HttpResponse:
    """Show one run with every step."""
    [seen] = see([find_take(request.visitor.tenant.pk, run_id)])
    shown = present_seen(seen)
    facts = facts_of(seen, shown["steps"])
    unbegun = sum(one.started_at is None for one in facts)
    notes = {one.number: one.counts for one in facts if one.counts}
    states = {one.number: one.state for one in facts}
    base, path = f"{run_url(run_id)}/steps/", path_of(seen, facts)
    return render(
        request,
        "dashboard/workflow_run.html",
        {
            **_head(seen),
            "waits": waits_text(waits_of(seen)),
            "run": shown,
            "run_id": run_id,
            "facts": facts,
            "failed": next((one for one in facts if one.number == _first_failed(seen)), None),
            "approvals": [one for one in facts if one.may_decide][:_APPROVALS],
            "dag": [] if seen.plan is None else dag_of(seen.plan.graph, states, notes, base, path),
            "direction": read_filters(request, DIRECTION)["direction"],
            "directions": DIRECTIONS,
            "on_path": set(path),
            "bars": bars_of(facts),
            "unbegun": unbegun,
            "input_text": pretty(shown["input"]),
            "duration_ms": _duration(seen),
        },
    )


@page(Role.VIEWER)
def step(request: ConsoleRequest, run_id: UUID, key: str) -> HttpResponse:
    """Show one step of a run: what it does, its state, its output, a page of its items."""
    query = {**read_filters(request, {}), "limit": _ITEMS}
    [seen] = see([find_take(request.visitor.tenant.pk, run_id)])
    number = number_of(seen, key)
    shown = present_step(seen, number)
    [facts] = facts_of(seen, [shown])
    items: dict[str, Any] = {"items": [], "pagination": {}}
    if seen.fans_out(number):
        total = item_total_of(seen, number)
        read = partial(present_items, seen, number)
        items = paginate_numbers(total, query, key="items", read=read)
    return render(
        request,
        "dashboard/workflow_step.html",
        {
            **_head(seen),
            "run_id": run_id,
            "step": facts,
            "missing": shown.get("missing"),
            "fans_out": seen.fans_out(number),
            "counts": in_order(shown["counts"] or {}),
            "query": query,
            **items,
            "output_text": "" if shown["output"] is None else pretty(shown["output"]),
            "definition_text": pretty(_definition(seen, key)),
            "after": begins_when(seen.steps[number]),
            "when": seen.steps[number]["when"],
        },
    )


def _head(seen: SeenRun) -> dict[str, Any]:
    """Return what the pages of a run and of its steps have in common."""
    take, row = seen.take, seen.take.row
    is_final = take.execution.status in FINAL
    phase = "" if row is None or is_final else row.phase
    reason = _reason(seen, phase)
    return {
        "task": Task.objects.get(pk=take.execution.task_id),
        "take": take.number,
        "status": str(take.execution.status),
        "execution": take.execution,
        "is_final": is_final,
        "is_begun": take.execution.status == Status.RUNNING,
        "is_paused": phase == RunPhase.PAUSED,
        "may_pause": phase in (RunPhase.RUNNING, RunPhase.FAILING, RunPhase.COMPENSATING),
        "may_retry": row is not None,
        "reason": reason,
        "reason_words": _REASONS.get(reason, ""),
        "deadline_at": None if row is None or is_final else row.deadline_at,
        "parent_run": None if row is None else row.parent_run,
        "now": database_now(),
    }


def _first_failed(seen: SeenRun) -> int | None:
    return None if seen.take.row is None else seen.take.row.first_failed


def _reason(seen: SeenRun, phase: str) -> str:
    if phase in (RunPhase.PAUSED, RunPhase.COMPENSATING):
        return phase
    if phase == RunPhase.FAILING:
        return "step_failed"
    if phase == RunPhase.CANCELLING:
        return "cancel_requested"
    return seen.take.execution.reason


def _duration(seen: SeenRun) -> float | None:
    execution = seen.take.execution
    return duration_ms(execution.started_at, execution.finished_at)


def _definition(seen: SeenRun, key: str) -> Any:
    """Return the step as the workflow's own call shows it, secrets masked."""
    if seen.plan is None:
        return None
    steps = workflow_fields(seen.plan.definition)["steps"]
    return next(one for one in steps if one["key"] == key)
