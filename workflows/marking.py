"""Marks a step of an ended run as done by hand, and lets the run go on behind it."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from events import audit
from executions.dead_letters import letters
from executions.models import EndedWorkflowRun, WorkflowStep
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.ids import first_id_at, moment_of, step_id
from tasks.workflow.step_states import StepState
from workflows.advance.kept_items import Before, takes_of_kept
from workflows.advance.outputs import OutputInvalid, checked
from workflows.advance.reading import MILLISECOND
from workflows.advance.records import StepEnd
from workflows.advance.run import Run
from workflows.advance.scope import STATUS_OF
from workflows.advance.waiting import decided
from workflows.advance.writing import StepPlace, append_ends
from workflows.plan import Plan, plan_of
from workflows.retrying import NextTake, input_of, insert_take, lock_ended
from workflows.sealed import seal_output

#: The ends that a person may replace in a run that has ended.
MARKED = (StepState.FAILED, StepState.CANCELLED)
_COMPENSATED = (StepState.COMPENSATED, StepState.NOT_COMPENSATED)
SKIPPED = "skipped"
#: The reason of a step that a person has ended -> what the audit log calls it.
ACTIONS = {SKIPPED: "run.step_skipped", "marked_succeeded": "run.step_succeeded"}


class Mark(NamedTuple):
    """What a person says of a step: its state, and the output of one that has succeeded."""

    key: str
    state: StepState
    reason: str
    output: Any = None


def output_that_can_be_kept(output: Any) -> Any:
    """Return an output; raise Conflict for one that cannot be kept."""
    try:
        return checked(output)
    except OutputInvalid as wrong:
        raise Conflict(wrong.failure.message, code=wrong.failure.code) from None


@transaction.atomic
def mark_step(tenant_id: UUID, run_id: UUID, mark: Mark, *, actor: Actor) -> int:
    """Begin the next take of an ended run, in which a failed step has this state; return the take.

    What was cancelled or did not run because of the failure runs now; what has succeeded does not
    run again, and another failed step stays as it is. Raise Conflict ``step_ended`` for a step that
    has neither failed nor was cancelled, ``run_compensated`` where steps before it may be undone,
    those of a retry, and NotFound.
    """
    ended, task = lock_ended(tenant_id, run_id)
    plan = plan_of(ended.task_id, ended.version)
    number = plan.definition.target["numbers"].get(mark.key)
    if number is None or number not in plan.steps:
        raise NotFound(f"The run has no step {mark.key[:100]!r}.")
    _require_markable(ended, number, mark)
    output = output_that_can_be_kept(mark.output)
    following = _following(ended, plan, number, mark.state)
    made = insert_take(ended, task, following, input_of(ended), actor)
    take = ended.take + 1
    end = StepEnd(
        number, -1, STATUS_OF[mark.state], mark.reason, place=following.ends, actor=actor.name
    )
    is_kept = number in plan.named or (ended.parent_run is not None and number in plan.last)
    if mark.state is StepState.SUCCEEDED and is_kept:
        end.output = seal_output(output, tenant_id, run_id, number, -1, take)
    append_ends([(StepPlace(run_id, tenant_id, take), end)])
    facts = {"key": mark.key, "take": take}
    changed = audit.Change(ACTIONS[mark.reason], "run", run_id, after=facts)
    closed = letters.close_retried(tenant_id, ended.execution_id, made, actor)
    audit.record_many(tenant_id, actor, [*closed, changed])
    return take


def undecided_item(run: Run, number: int, item: int) -> int:
    """Return the number of a fan-out whose item has not begun.

    Raise InvalidInput for a step of another kind, NotFound for an item that it does not have,
    Conflict for one that is under way or has ended.
    """
    key = run.plan.keys[number]
    if run.plan.steps[number].get("for_each") is None:
        message = f"Step {key!r} has no items."
        raise InvalidInput([FieldError("#/item", "no_items", message)])
    if run.states[number] == StepState.PENDING:
        raise Conflict(f"The items of step {key!r} are not known yet.", code="not_begun")
    row = run.fans.get(number)
    if row is None or not run.is_open(number):
        raise Conflict(f"Step {key!r} has ended already.", code="step_ended")
    if item >= row.fan.total:
        raise NotFound(f"Step {key!r} has {row.fan.total} items, from 0.")
    place = {"id": step_id(run.row.id, number, item, run.row.take)}
    if item in decided(run, number) or WorkflowStep.objects.filter(**place).exists():
        raise Conflict(f"Item {item} of step {key!r} has ended already.", code="step_ended")
    if item < row.fan.begun:
        message = f"Item {item} of step {key!r} is under way."
        raise Conflict(message, code="still_running")
    return number


def _require_markable(ended: EndedWorkflowRun, number: int, mark: Mark) -> None:
    states = bytearray(ended.states)
    if states[number] not in MARKED:
        status = STATUS_OF.get(StepState(states[number]), "SKIPPED")
        raise Conflict(f"Step {mark.key!r} is {status} already.", code="step_ended")
    if any(state in states for state in _COMPENSATED):
        message = "What had succeeded in this run was undone. Retry the run instead."
        raise Conflict(message, code="run_compensated")


def _following(ended: EndedWorkflowRun, plan: Plan, number: int, state: StepState) -> NextTake:
    """Return the next take: what waits for the step, or was stopped, is judged anew."""
    old, old_takes = bytearray(ended.states), bytearray(ended.takes)
    states, takes = bytearray(old), bytearray(old_takes)
    behind = plan.graph.downstream([number])
    by_hand = _skipped_by_hand(ended)
    for one in plan.steps:
        stopped = states[one] in (StepState.BLOCKED, StepState.CANCELLED)
        unneeded = one in behind and states[one] == StepState.SKIPPED and one not in by_hand
        if stopped or unneeded or states[one] == StepState.PENDING:
            states[one], takes[one] = StepState.PENDING, 0
    again = {one for one in plan.steps if states[one] == StepState.PENDING}
    before = Before(plan, old, old_takes, ended.parent_run is not None)
    for one, take in takes_of_kept(before, plan, again | {number}).items():
        takes[one] = take
    states[number], takes[number] = state, ended.take + 1
    return NextTake(plan, states, takes, ended.ends + 1)


def _skipped_by_hand(ended: EndedWorkflowRun) -> set[int]:
    """Return the steps that a person has skipped, in the take that counts."""
    moment = moment_of(ended.pk)
    found = WorkflowStep.objects.filter(
        id__gte=first_id_at(moment),
        id__lt=first_id_at(moment + MILLISECOND),
        run_id=ended.pk,
        item=-1,
        reason=SKIPPED,
    )
    takes = bytearray(ended.takes)
    return {step for step, take in found.values_list("step", "take") if takes[step] == take}
