"""The items of a fan-out that a retry keeps: those that have succeeded, of the same list.

The end of a kept item is a row of the new take with the reason ``kept`` and the place of the end
that it repeats; the output stays with that one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from shared.sql import rows
from tasks.workflow.step_states import StepState
from workflows.advance.reading import bounds
from workflows.advance.records import FanRow, StepEnd
from workflows.plan import Plan

KEPT = "kept"
#: A fan-out that ended so, or has not begun again since, runs only its other items again; what was
#: undone runs as a whole.
_RESUMED = (StepState.FAILED, StepState.CANCELLED, StepState.PENDING)


@dataclass(frozen=True, slots=True)
class Before:
    """The take before a next one: its version, the states of its steps, and the take of each."""

    plan: Plan
    states: Sequence[int]
    takes: Sequence[int]
    #: Whether a step of another run has begun the run.
    is_child: bool


def takes_of_kept(before: Before, plan: Plan, again: Collection[int]) -> dict[int, int]:
    """Return the fan-outs among the steps that run again whose items are kept, and of which take.

    Their list is the same: it is written as before, and nothing that it may name runs again. The
    caller has seen that the input is the same, too. The outputs of the items were kept before if
    they are from now on.
    """
    return {
        number: before.takes[number]
        for number in again
        if number in plan.steps
        and number in before.plan.steps
        and before.takes[number]
        and before.states[number] in _RESUMED
        and _list_of(plan, number) is not None
        and _list_of(plan, number) == _list_of(before.plan, number)
        and (not _is_named(plan, number, before) or _is_named(before.plan, number, before))
        and not any(plan.graph.comes_before(one, number) for one in again if one != number)
    }


def _list_of(plan: Plan, number: int) -> object:
    return plan.steps[number].get("for_each")


def _is_named(plan: Plan, number: int, before: Before) -> bool:
    return number in plan.named or (before.is_child and number in plan.last)


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


def kept_among(run_id: UUID, step: int, row: FanRow, items: range) -> Collection[int]:
    """Return which of a fan-out's items, whose turn has come, are kept."""
    if row.kept is not None:
        return row.kept
    if row.take == 1:
        return ()
    place = {"run": run_id, "step": step, "take": row.take, **bounds([run_id])}
    parameters = {**place, "first": items.start, "end": items.stop}
    return {item for (item,) in rows("workflow_runs/kept_items", parameters)}
