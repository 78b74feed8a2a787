"""One workflow: its graph, its latest runs by step, and the buttons of its task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.listing import read_filters, read_page
from dashboard.payload_form import pretty, read_field
from dashboard.pictures.dag import DagStep
from dashboard.pictures.run_grid import GridRun, GridStep
from dashboard.step_facts import (
    DIRECTION,
    DIRECTIONS,
    begins_when,
    dag_of,
    in_order,
    run_url,
    states_of,
    step_words,
)
from dashboard.views.tasks import PAUSES
from executions.loop.clocks import database_now
from insight.explain.evidence import end_of_pause, standing_pause_of
from insight.presentation.execution import duration_ms
from insight.presentation.workflows import present_workflow
from insight.task_fires import fires_of
from insight.workflow_runs import SeenRun, latest_takes, runs_of, see
from shared.encryption import DecryptionFailed
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.revisions import own_revisions
from tasks.standing_pauses import describe
from tenants.choices import Role
from workflows.launching import get_workflow, start_run
from workflows.plan import Plan, plan_of

_FIRES = 5
_RUNS = 25
_REVISIONS = 10
#: Letters of a definition that the page holds; that of hundreds of steps is left to the call.
_LONGEST = 200_000
#: A run, and the state of each of its steps.
_Run = tuple[SeenRun, Mapping[int, str]]


@page(Role.VIEWER)
def workflow(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show one workflow: its graph, its next fires, a page of its runs, its versions."""
    query = {**read_filters(request, DIRECTION), "limit": _RUNS}
    tenant = request.visitor.tenant.pk
    task = get_workflow(tenant, task_id)
    shown, plan = present_workflow(task), _plan(task)
    text, now = pretty(shown), database_now()
    come = runs_of(tenant, task_id).scheduled_between(None, now + timedelta(seconds=1))
    listed = read_page(come, query, present=lambda rows: see(latest_takes(rows)))
    runs: list[_Run] = [(run, states_of(run)) for run in listed["rows"]]
    return render(
        request,
        "dashboard/workflow.html",
        {
            "workflow": shown,
            "query": query,
            "direction": query["direction"],
            "directions": DIRECTIONS,
            "pagination": listed["pagination"],
            "runs": [_run(*run) for run in runs],
            "dag": [] if plan is None else _dag(plan, runs[0][1] if runs else {}),
            "steps": [] if plan is None else _steps(plan, runs[0][1] if runs else {}),
            "grid_runs": [_column(run) for run, _ in reversed(runs)],
            "grid_steps": [] if plan is None else _grid(plan, runs),
            "fires": [
                {"at": one.at, "due_at": one.due_at, "notes": list(one.notes)}
                for one in fires_of(task, _FIRES, now=now)
            ],
            "revisions": list(own_revisions(task).order_by("-version")[:_REVISIONS]),
            "definition_text": text if len(text) <= _LONGEST else "",
            "needs_input": shown["input_schema"] is not None,
            "pauses": PAUSES,
            "resumes_at": end_of_pause(task, standing_pause_of(task)),
            "holder": _holder(shown),
            "is_paused": task.status == TaskStatus.PAUSED,
            "may_pause": task.status in (TaskStatus.SCHEDULED, TaskStatus.RUNNING),
            "may_cancel": task.status
            in (TaskStatus.SCHEDULED, TaskStatus.PAUSED, TaskStatus.RUNNING),
        },
    )


@action(Role.OPERATOR)
def start(request: ConsoleRequest, task_id: UUID) -> Done:
    """Run now, beside the schedule, with the input of the form; an empty field is none."""
    visitor = request.visitor
    text = request.POST.get("input", "").strip()
    value = read_field(text, "#/input", "Input") if text else None
    execution = start_run(visitor.tenant.pk, task_id, value, actor=visitor.actor)
    return Done("Run requested. Its steps are below.", run_url(execution.pk), settled=False)


def _plan(task: Task) -> Plan | None:
    """Return the plan of the version in force; None where no key opens it."""
    try:
        return plan_of(task.id, task.version)
    except DecryptionFailed:
        return None


def _holder(shown: Mapping[str, Any]) -> str:
    held = shown["paused_by"]
    return describe(held["scope"], held["value"]) if held else ""


def _dag(plan: Plan, states: Mapping[int, str]) -> list[DagStep]:
    notes = {number: "for each item" for number, step in plan.steps.items() if step.get("for_each")}
    return dag_of(plan.graph, states, notes, "#step-")


def _steps(plan: Plan, states: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "key": step["key"],
            "status": states.get(number, ""),
            "called": step_words(
                step, plan.calls[number].destination if number in plan.calls else ""
            ),
            "after": begins_when(step),
            "when": step["when"],
            "for_each": step.get("for_each"),
            "items": len(step["for_each"]) if isinstance(step.get("for_each"), list) else None,
            "compensates": bool(step.get("compensate")),
        }
        for number, step in sorted(plan.steps.items(), key=lambda one: plan.graph.rank[one[0]])
    ]


def _run(seen: SeenRun, states: Mapping[int, str]) -> dict[str, Any]:
    take, execution = seen.take, seen.take.execution
    return {
        "id": take.run_id,
        "status": str(execution.status),
        "take": take.number,
        "reason": execution.reason,
        "scheduled_for": execution.scheduled_for,
        "duration_ms": duration_ms(execution.started_at, execution.finished_at),
        "counts": in_order(Counter(states.values())),
    }


def _column(seen: SeenRun) -> GridRun:
    execution = seen.take.execution
    return GridRun(str(execution.status), execution.scheduled_for, run_url(seen.take.run_id))


def _grid(plan: Plan, runs: Sequence[_Run]) -> list[GridStep]:
    """Return a row for each step of the version in force; runs come newest first."""
    oldest_first = [states for _, states in reversed(runs)]
    return [
        GridStep(
            step["key"],
            f"#step-{step['key']}",
            [states.get(number) for states in oldest_first],
        )
        for number, step in sorted(plan.steps.items(), key=lambda one: plan.graph.rank[one[0]])
    ]
