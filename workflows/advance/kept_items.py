"""The items of a fan-out that a retry keeps: those that have succeeded, of the same list.

The end of a kept item is a row of the new take with the reason ``kept`` and the place of the end
that it repeats; the output stays with that one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from shared.sql import rows
from tasks.workflow.step_states import StepState
from workflows.advance.reading import bounds
from workflows.advance.records import FanRow, StepEnd
from workflows.plan import Plan

KEPT = "kept"
#: A fan-out that ended so runs only its other items again; what was undone runs as a whole.
_RESUMED = (StepState.FAILED, StepState.CANCELLED)


def takes_of_kept(
    before: Plan, plan: Plan, states: Sequence[int], takes: Sequence[int], redone: Collection[int]
) -> dict[int, int]:
    """Return the fan-outs among the steps that run again whose items are kept, and of which take.

    Their list is the same: it is written as before, and nothing that it may name runs again. The
    caller has seen that the input is the same, too.
    """
    return {
        number: takes[number]
        for number in redone
        if number in plan.steps
        and number in before.steps
        and states[number] in _RESUMED
        and _list_of(plan, number) is not None
        and _list_of(plan, number) == _list_of(before, number)
        and not any(plan.graph.comes_before(one, number) for one in redone if one != number)
    }


def _list_of(plan: Plan, number: int) -> object:
    return plan.steps[number].get("for_each")


def kept_ends(run_id: UUID, step: int, take: int) -> list[StepEnd]:
    """Return the ends of the items that succeeded in a take, as the next one has them."""
    parameters = {"run": run_id, "step": step, "take": take, **bounds([run_id])}
    return [
        StepEnd(
            step,
            item,
            "SUCCEEDED",
            KEPT,
            place=place,
            execution_id=execution_id,
            started_at=started_at,
            finished_at=finished_at,
            actor=actor,
            note=note,
        )
        for item, place, execution_id, started_at, finished_at, actor, note in rows(
            "workflow_runs/succeeded_items", parameters
        )
    ]


def kept_from(run_id: UUID, step: int, row: FanRow) -> set[int]:
    """Return the kept items of a fan-out whose turn has not come."""
    if row.take == 1:
        return set()
    place = {"run": run_id, "step": step, "take": row.take, **bounds([run_id])}
    parameters = {**place, "first": row.fan.begun}
    return {item for (item,) in rows("workflow_runs/kept_items", parameters)}
