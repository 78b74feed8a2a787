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
from dashboard.live_parts import version_of
from dashboard.pause_form import PAUSES
from dashboard.payload_form import pretty, read_field
from dashboard.pictures.dag import MOST_STEPS, DagStep
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
from dashboard.step_pages import PARAMETERS, STEPS_AT_ONCE, page_of
from executions.gate.key_list import key_of
from executions.loop.clocks import database_now
from insight.explain.evidence import end_of_pause, standing_pause_of
from insight.presentation.execution import duration_ms
from insight.presentation.workflows import present_workflow
from insight.task_fires import fires_of
from insight.workflow_runs import SeenRun, latest_takes, runs_of, see
from shared.encryption import DecryptionFailed
from shared.payload_sight import hide, is_hidden
from tasks.budgets.keeping import present_use
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
_FAILURES = frozenset({"FAILED", "NOT_UNDONE"})
#: A run, and the state of each of its steps.
_Run = tuple[SeenRun, Mapping[int, str]]


@page(Role.VIEWER)
def workflow(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show one workflow: its graph, its next fires, a page of its runs, its versions.

    Of a large one, the grid of runs and the list of steps show a page of the steps.
    """
    query = {**read_filters(request, {**DIRECTION, **PARAMETERS}), "limit": _RUNS}
    tenant = request.visitor.tenant.pk
    task = get_workflow(tenant, task_id)
    plan = _plan(task)
    shown = present_workflow(task, None if plan is None else plan.definition)
    text, now = _text(shown), database_now()
    come = runs_of(tenant, task_id).scheduled_between(None, now + timedelta(seconds=1))
    listed = read_page(come, query, present=lambda rows: see(latest_takes(rows)))
    runs: list[_Run] = [(run, states_of(run)) for run in listed["rows"]]
    shown_runs = [_run(*run) for run in runs]
    return render(
        request,
        "dashboard/workflow.html",
        {
            "workflow": shown,
            "query": query,
            "pagination": listed["pagination"],
            "runs": shown_runs,
            "runs_version": version_of(
                shown_runs,
                listed["pagination"],
                *(shown[name] for name in ("next_execution", "next_execution_due_at")),
            ),
            **_pictures(request, plan, runs, query),
            "fires": [
                {"at": one.at, "due_at": one.due_at, "notes": list(one.notes)}
                for one in fires_of(task, _FIRES, now=now)
            ],
            "revisions": list(own_revisions(task).order_by("-version")[:_REVISIONS]),
            "definition_text": text,
            "definition_version": version_of(text),
            "budget_use": present_use(task),
            "key_use": key_of(tenant, task.concurrency_key) if task.concurrency_key else None,
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


def _pictures(
    request: ConsoleRequest, plan: Plan | None, runs: Sequence[_Run], query: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the graph, the grid and the list of steps; nothing of them where no key opens it."""
    order = [] if plan is None else sorted(plan.steps, key=plan.graph.rank.__getitem__)
    pages = page_of(order, query, _groups(runs, query["only"]))
    latest = runs[0][1] if runs else {}
    dag = [] if plan is None else _dag(request, plan, latest, order)
    steps = [] if plan is None else _steps(plan, latest, pages.numbers)
    columns = [_column(run) for run, _ in reversed(runs)]
    rows = [] if plan is None else _grid(plan, runs, pages.numbers)
    return {
        "dag": dag,
        "direction": query["direction"],
        "directions": DIRECTIONS,
        "steps": steps,
        "pages": pages,
        "grid_runs": columns,
        "grid_steps": rows,
        "versions": {
            "graph": version_of(dag, query["direction"], [run.take.run_id for run, _ in runs]),
            "grid": version_of(columns, rows, pages),
            "steps": version_of(steps, pages),
        },
    }


def _text(shown: Mapping[str, Any]) -> str:
    """Return the definition as text; "" where it is too long for the page."""
    text = "" if len(shown["steps"]) > MOST_STEPS else pretty(shown)
    return text if len(text) <= _LONGEST else ""


def _groups(runs: Sequence[_Run], chosen: str | None) -> dict[str, tuple[str, set[int]]]:
    """Return the group of steps that failed in one of the runs, where there are any.

    A chosen group is kept without any: a live page must not jump to all steps.
    """
    failed = {number for _, states in runs for number in states if states[number] in _FAILURES}
    return (
        {"failed": ("failed in one of these runs", failed)} if failed or chosen == "failed" else {}
    )


def _dag(
    request: ConsoleRequest, plan: Plan, states: Mapping[int, str], order: Sequence[int]
) -> list[DagStep]:
    notes = {number: "for each item" for number, step in plan.steps.items() if step.get("for_each")}
    places = {number: place for place, number in enumerate(order)}

    def address(number: int) -> str:
        key = plan.graph.steps[number].key
        if len(order) <= STEPS_AT_ONCE:
            return f"#step-{key}"
        query = request.GET.copy()
        query.pop("only", None)
        query["steps_from"] = str(places[number] // STEPS_AT_ONCE * STEPS_AT_ONCE)
        return f"?{query.urlencode()}#step-{key}"

    return dag_of(plan.graph, states, notes, address)


def _steps(plan: Plan, states: Mapping[int, str], numbers: Sequence[int]) -> list[dict[str, Any]]:
    return [_step(plan, number, states.get(number, "")) for number in numbers]


def _step(plan: Plan, number: int, status: str) -> dict[str, Any]:
    step, call = plan.steps[number], plan.calls.get(number)
    items = step.get("for_each")
    return {
        "key": step["key"],
        "place": plan.graph.rank[number] + 1,
        "status": status,
        "called": step_words(step, call.destination if call else ""),
        "after": begins_when(step),
        "when": hide(step["when"]),
        "for_each": hide(items),
        "items": len(items) if isinstance(items, list) and not is_hidden() else None,
        "compensates": bool(step.get("compensate")),
    }


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


def _grid(plan: Plan, runs: Sequence[_Run], numbers: Sequence[int]) -> list[GridStep]:
    """Return a row for each of these steps of the version in force; runs come newest first."""
    oldest_first = [states for _, states in reversed(runs)]
    return [
        GridStep(
            plan.graph.steps[number].key,
            f"#step-{plan.graph.steps[number].key}",
            [states.get(number) for states in oldest_first],
        )
        for number in numbers
    ]
