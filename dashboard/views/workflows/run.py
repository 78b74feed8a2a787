"""One run of a workflow: its graph, its times, its steps; and one step with its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.pagination import paginate_numbers
from api.protocol.query import choice
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from dashboard.live_parts import version_of
from dashboard.payload_form import LONGEST_EDITED, pretty
from dashboard.pictures.dag import DagStep
from dashboard.pictures.gantt import MOST_BARS
from dashboard.state_vocabulary import look_of
from dashboard.step_facts import (
    DIRECTION,
    DIRECTIONS,
    StepFacts,
    bars_of,
    begins_when,
    dag_of,
    facts_of,
    groups_of,
    in_order,
    path_of,
    states_of,
)
from dashboard.step_pages import PARAMETERS, Group, StepPage, page_of
from executions.choices import FINAL, RunPhase, Status
from executions.loop.clocks import database_now
from insight.presentation.execution import duration_ms
from insight.presentation.workflow_runs import (
    present_items,
    present_items_with_status,
    present_outline,
    present_step,
)
from insight.run_items import ITEM_STATUSES, item_total_of
from insight.run_waits import waits_of, waits_text
from insight.workflow_runs import (
    SeenRun,
    find_take,
    number_of,
    see,
)
from shared.payload_sight import hide
from tasks.models import Task
from tasks.validation.workflow import workflow_fields
from tenants.choices import Role
from workflows.plan import Plan

#: Approvals that are shown on top of a run's page.
_APPROVALS = 10
_ITEMS = 50
#: Seconds after which the bars of open steps are drawn anew.
_REDRAWN_SECONDS = 5
_REASONS = {
    "paused": "It is paused: no step begins until it is resumed.",
    "step_failed": "A step has failed.",
    "cancel_requested": "It is being cancelled: no step begins, and running ones are told to end.",
    "deadline_exceeded": "Its deadline has passed.",
    "compensating": "It has failed, and what has succeeded is undone.",
}


@page(Role.VIEWER)
def run(request: ConsoleRequest, run_id: UUID) -> HttpResponse:
    """Show one run: its graph and its times, and its steps, of a large one a page of them."""
    [seen] = see([find_take(request.visitor.tenant.pk, run_id)])
    query = read_filters(request, {**DIRECTION, **PARAMETERS})
    states = states_of(seen)
    pages = page_of(list(seen.steps), query, groups_of(states, query["only"]))
    shown = present_outline(seen, pages.numbers)
    facts = facts_of(seen, shown["steps"])
    head = _head(seen)
    input_text = pretty(shown["input"])
    return render(
        request,
        "dashboard/workflow_run.html",
        {
            **head,
            "waits": waits_text(waits_of(seen)),
            "run": shown,
            "run_id": run_id,
            "pages": pages,
            "failed": next((one for one in facts if one.number == _first_failed(seen)), None),
            "approvals": [one for one in facts if one.may_decide][:_APPROVALS],
            "open_keys": [one.key for one in facts if one.finished_at is None],
            "keys": [one.key for one in facts],
            **_pictures(seen, facts, pages, head, query["direction"]),
            "input_text": input_text,
            "is_input_long": len(input_text) > LONGEST_EDITED,
            "duration_ms": _duration(seen),
        },
    )


def _listed(facts: Sequence[StepFacts], pages: StepPage) -> list[StepFacts]:
    by_number = {one.number: one for one in facts}
    return [by_number[number] for number in pages.numbers]


def _pictures(
    seen: SeenRun,
    facts: Sequence[StepFacts],
    pages: StepPage,
    head: Mapping[str, Any],
    direction: str | None,
) -> dict[str, Any]:
    """Return the graph, the chart and the listed steps, and the versions of the page's parts."""
    path, listed, bars = path_of(seen, facts), _listed(facts, pages), bars_of(facts)
    # A chart that has no room for all steps has those that are listed.
    drawn = bars if len(bars) <= MOST_BARS else bars_of(listed)
    dag = [] if seen.plan is None else _dag(seen.plan, facts, path)
    # What is under way is drawn up to now.
    is_open = any(bar.end is None for bar in drawn)
    is_timing_paged = len(drawn) < len(bars)
    unbegun = sum(one.started_at is None for one in facts)
    moment = head["now"].timestamp() // _REDRAWN_SECONDS if is_open else 0
    return {
        "facts": listed,
        "dag": dag,
        "direction": direction,
        "directions": DIRECTIONS,
        "on_path": set(path),
        "bars": drawn,
        "is_timing_paged": is_timing_paged,
        "unbegun": unbegun,
        "versions": {
            "retry": version_of(head["take"], head["is_final"], len(facts), head["task"].version),
            "graph": version_of(dag, direction),
            "timing": version_of(drawn, moment, unbegun, is_timing_paged, pages.is_paged),
            "steps": version_of(listed, path, pages),
            "facts": version_of(
                *(head[name] for name in ("take", "status", "reason", "deadline_at"))
            ),
        },
    }


def _dag(plan: Plan, facts: Sequence[StepFacts], path: Sequence[int]) -> list[DagStep]:
    by_number = {one.number: one for one in facts}
    states = {one.number: one.state for one in facts}
    notes = {one.number: one.counts for one in facts if one.counts}
    return dag_of(plan.graph, states, notes, lambda number: by_number[number].href, path)


@page(Role.VIEWER)
def step(request: ConsoleRequest, run_id: UUID, key: str) -> HttpResponse:
    """Show one step of a run: what it does, its state, its output, a page of its items."""
    query = {**read_filters(request, {"only": choice(*ITEM_STATUSES)}), "limit": _ITEMS}
    [seen] = see([find_take(request.visitor.tenant.pk, run_id)])
    number = number_of(seen, key)
    shown = present_step(seen, number)
    [facts] = facts_of(seen, [shown])
    counts = in_order(shown["counts"] or {})
    items = _items(seen, number, query, counts) if seen.fans_out(number) else {}
    output_text = "" if shown["output"] is None else pretty(shown["output"])
    definition_text, head = pretty(_definition(seen, key)), _head(seen)
    return render(
        request,
        "dashboard/workflow_step.html",
        {
            **head,
            "run_id": run_id,
            "step": facts,
            "missing": shown.get("missing"),
            "fans_out": seen.fans_out(number),
            "counts": counts,
            "query": query,
            **items,
            "output_text": output_text,
            "is_output_long": len(output_text) > LONGEST_EDITED,
            "definition_text": definition_text,
            "after": begins_when(seen.steps[number]),
            "when": hide(seen.steps[number]["when"]),
            "versions": {
                "output": version_of(output_text, facts.is_sensitive),
                "items": version_of(
                    items, counts, head["is_final"], facts.status, facts.called.kind
                ),
                "definition": version_of(definition_text),
            },
        },
    )


def _items(
    seen: SeenRun, number: int, query: dict[str, Any], counts: dict[str, int]
) -> dict[str, Any]:
    """Return a page of a fan-out's items, all or those with a status, and where it lies."""
    status, total = query["only"], item_total_of(seen, number)
    read = partial(present_items, seen, number)
    if status:
        total, read = (
            counts.get(status, 0),
            partial(present_items_with_status, seen, number, status),
        )
    page = paginate_numbers(total, query, key="items", read=read)
    place = page["pagination"].get("page")
    start = None if place is None else (place - 1) * query["limit"]
    last = max(1, -(-total // query["limit"]))
    return {
        **page,
        "item_total": total,
        "is_paged": sum(counts.values()) > query["limit"],
        "first_item": None if start is None else start + 1,
        "last_item": None if start is None else start + len(page["items"]),
        "page_before": place - 1 if place and place > 1 else None,
        "page_after": place + 1 if place and place < last else None,
        "page_last": last,
        "item_groups": [
            Group(state, look_of(state).label, count, state == status)
            for state, count in counts.items()
        ],
        "filtered_by": ITEM_STATUSES,
    }


def _head(seen: SeenRun) -> dict[str, Any]:
    """Return what the pages of a run and of its steps have in common."""
    take, row = seen.take, seen.take.row
    task = Task.objects.get(pk=take.execution.task_id)
    version = take.execution.revision if row is None else row.version
    is_final = take.execution.status in FINAL
    phase = "" if row is None or is_final else row.phase
    reason = _reason(seen, phase)
    return {
        "task": task,
        "is_changed": task.version > version,
        "is_deleted": task.deleted_at is not None,
        "take": take.number,
        "status": str(take.execution.status),
        "execution": take.execution,
        "error_message": hide(take.execution.error_message),
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
