"""Retries runs: the next take of the same run, which keeps what has succeeded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions.dead_letters import letters
from executions.ledger.days import missing_days
from executions.loop.clocks import database_now
from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from executions.parts_of_runs import run_of_take
from executions.payloads import payload_of, seal_payload
from executions.redacted_fields import with_restored
from executions.triggering.triggers import (
    Override,
    lock_tasks,
    require_input,
    require_portable,
    wake_for_made,
)
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.ids import moment_of, new_id
from tasks import standing_pauses
from tasks.limits import current_limits
from tasks.models import Task
from tasks.payloads import check_payload_size
from tasks.workflow.step_states import StepState
from tenants.models import Tenant
from workflows import transitions
from workflows.advance.kept_items import Before, takes_of_kept
from workflows.plan import Plan, plan_of
from workflows.sealed import seal_input

MOST_TAKES = 255
#: A step that was undone counts as not run, and so does one of which that is not known.
_COMPENSATED = (StepState.COMPENSATED, StepState.NOT_COMPENSATED)
_UNDONE = (StepState.FAILED, StepState.BLOCKED, StepState.CANCELLED, *_COMPENSATED)


@dataclass(frozen=True, slots=True)
class Retry:
    """What a retry does: from all that failed, or from one step and all behind it.

    ``latest``: by the workflow's current version. ``override`` is another input.
    ``cancel_running``: of a run that is open, cancel it first; what that has cancelled runs again.
    """

    key: str | None = None
    latest: bool = False
    override: Override | None = None
    cancel_running: bool = False


@dataclass(frozen=True, slots=True)
class NextTake:
    """What the next take of a run begins with: the states of its steps, and the take of each.

    A fan-out that is PENDING with a take keeps the items that have succeeded in that one.
    """

    plan: Plan
    states: bytearray
    takes: bytearray
    #: How many ends of steps the run has had, with those that the take begins with.
    ends: int


@transaction.atomic
def retry_run(tenant_id: UUID, run_id: UUID, retry: Retry, *, actor: Actor) -> int:
    """Begin the next take of an ended run; return its number.

    Steps that have succeeded keep their output and do not run again, unless they come behind the
    step that the retry begins from. Nor do items of a fan-out that have succeeded, where all that
    failed is retried, with the same input and list. Raise Conflict ``still_running``,
    ``run_not_kept``, ``nothing_to_retry``, ``version_differs`` or ``task_deleted``, and NotFound.
    """
    require_portable(retry.override)
    ended, task = lock_ended(tenant_id, run_id)
    before = plan_of(ended.task_id, ended.version)
    plan = plan_of(task.id, task.version) if retry.latest else before
    following = _following(ended, before, plan, retry)
    made = insert_take(ended, task, following, _input(ended, task, retry.override), actor)
    facts = {"take": ended.take + 1, "from": retry.key or "failed", "version": plan.version}
    changes = [
        *letters.close_retried(tenant_id, ended.execution_id, made, actor),
        audit.Change("run.retried", "run", run_id, after=facts),
    ]
    audit.record_many(tenant_id, actor, changes)
    return ended.take + 1


def retry_take(
    execution: Execution, task: Task, override: Override | None, actor: Actor, **_: object
) -> UUID:
    """Begin the next take after a failed one of a locked task; return its execution.

    The caller audits. Raise as :func:`retry_run`; ``nothing_to_retry`` where the run has had
    another take since.
    """
    ended = _ended(task.tenant_id, run_of_take(execution))
    require_there(task)
    require_takes_left(ended.take)
    if ended.execution_id != execution.id:
        message = f"The run has had take {ended.take} since. Retry the run itself."
        raise Conflict(message, code="nothing_to_retry")
    plan = plan_of(ended.task_id, ended.version)
    following = _following(ended, plan, plan, Retry(override=override))
    return insert_take(ended, task, following, _input(ended, task, override), actor)


def _input(ended: EndedWorkflowRun, task: Task, override: Override | None) -> Any:
    if override is None:
        return input_of(ended)
    before = partial(input_of, ended)
    override = Override(with_restored(override.payload, ended.task_id, ended.version, before))
    check_override(task, override)
    return override.payload


def lock_ended(tenant_id: UUID, run_id: UUID) -> tuple[EndedWorkflowRun, Task]:
    """Return the latest take of an ended run that may have another, and its locked task.

    Raise Conflict or NotFound as :func:`retry_run`.
    """
    standing_pauses.share_active(tenant_id)
    ended = _ended(tenant_id, run_id)
    letters.lock_open(tenant_id, ended.execution_id)
    task = lock_tasks([ended.task_id]).get(ended.task_id)
    if task is None:
        # Its tenant has been removed meanwhile.
        raise NotFound("There is no such run.")
    require_there(task)
    # Again, under the lock: of two retries at one time, the second finds the first.
    ended = _ended(tenant_id, run_id)
    require_takes_left(ended.take)
    return ended, task


def require_there(task: Task) -> None:
    """Raise Conflict ``task_deleted`` for a workflow that was deleted."""
    if task.deleted_at is not None:
        raise Conflict("The workflow has been deleted.", code="task_deleted")


def require_takes_left(take: int) -> None:
    """Raise Conflict ``too_many_takes`` where a run cannot have a take after this one."""
    if take >= MOST_TAKES:
        raise Conflict(f"A run has at most {MOST_TAKES} takes.", code="too_many_takes")


def check_override(task: Task, override: Override) -> None:
    """Raise InvalidInput or TooLarge for another input that a run of the workflow cannot have."""
    check_payload_size(override.payload, current_limits().payload_bytes)
    require_input(task, override.payload)


def insert_take(
    ended: EndedWorkflowRun, task: Task, following: NextTake, value: Any, actor: Actor
) -> UUID:
    """Insert the next take of an ended run of a locked task, due now; return its execution."""
    execution_id = new_id()
    transitions.insert_take(
        {
            "execution": execution_id,
            "task": task.id,
            "version": following.plan.version,
            "scheduled_for": ended.scheduled_for,
            "sealed_payload": (
                None if value is None else seal_payload(value, task.tenant_id, execution_id)
            ),
            "sealed_input": (
                None if value is None else seal_input(value, task.tenant_id, ended.pk)
            ),
            "parent": ended.execution_id,
            "trace": actor.trace or None,
            "run": ended.pk,
            "take": ended.take + 1,
            "states": bytes(following.states),
            "takes": bytes(following.takes),
            "ends": following.ends,
        }
    )
    wake_for_made()
    return execution_id


def input_of(ended: EndedWorkflowRun) -> Any:
    """Return the input of the latest take, None without one."""
    execution = Execution.objects.get(pk=ended.execution_id)
    return None if execution.sealed_payload is None else payload_of(execution)


def number_of(plan: Plan, key: str) -> int:
    """Return the number of the step that a retry begins from; raise InvalidInput."""
    number: int | None = plan.definition.target["numbers"].get(key)
    if number is None or number not in plan.steps:
        message = f"The run has no step {key[:100]!r}."
        raise InvalidInput([FieldError("#/from", "step_unknown", message)])
    return number


def _ended(tenant_id: UUID, run_id: UUID) -> EndedWorkflowRun:
    if WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).exists():
        raise Conflict(
            "The run has not ended. Cancel it first, or retry it with cancel_running.",
            code="still_running",
        )
    found: EndedWorkflowRun | None = EndedWorkflowRun.objects.latest_of(tenant_id, run_id)
    if found is None:
        waiting = Execution.objects.filter(pk=run_id, tenant_id=tenant_id, pool="workflow").first()
        if waiting is not None:
            raise Conflict(
                f"The run is {waiting.status} and has no steps to retry.", code="nothing_to_retry"
            )
        _refuse_gone(tenant_id, run_id)
        raise NotFound("There is no such run.")
    return found


def _refuse_gone(tenant_id: UUID, run_id: UUID) -> None:
    """Raise Conflict ``run_not_kept`` for a run of a day that has left the ledger.

    An id of a time before the tenant is of no run.
    """
    moment = moment_of(run_id)
    began = Tenant.objects.values_list("created_at", flat=True).get(pk=tenant_id)
    if began <= moment < database_now() and missing_days([moment]):
        message = f"Runs of {moment:%Y-%m-%d} are not kept any longer."
        raise Conflict(message, code="run_not_kept")


def _following(ended: EndedWorkflowRun, before: Plan, plan: Plan, retry: Retry) -> NextTake:
    """Return what the next take begins with: what is kept, and PENDING for the rest."""
    old, old_takes = bytearray(ended.states), bytearray(ended.takes)
    redone = _redone(old, before, plan, retry)
    added = set(plan.steps) - set(before.steps)
    ahead = {
        number
        for number in added
        for one in redone
        if number != one and plan.graph.comes_before(number, one)
    }
    if ahead:
        keys = ", ".join(sorted(plan.keys[number] for number in ahead))
        message = f"The latest version has steps before the retried ones that have not run: {keys}."
        raise Conflict(message, code="version_differs")
    states, takes = bytearray(plan.size), bytearray(plan.size)
    for number in plan.steps:
        if number in before.steps and number not in redone:
            states[number] = old[number]
            takes[number] = old_takes[number] if old[number] != StepState.PENDING else 0
    if retry.key is None and retry.override is None:
        again = {number for number in plan.steps if states[number] == StepState.PENDING}
        taken = Before(before, old, old_takes, ended.parent_run is not None)
        for number, take in takes_of_kept(taken, plan, again | redone).items():
            takes[number] = take
    if all(states[number] != StepState.PENDING for number in plan.steps):
        raise Conflict("Nothing of the run has failed.", code="nothing_to_retry")
    return NextTake(plan, states, takes, ended.ends)


def _redone(old: bytearray, before: Plan, plan: Plan, retry: Retry) -> set[int]:
    if retry.key is None:
        return _undone(old, before, plan, _UNDONE)
    found = plan.graph.downstream([number_of(plan, retry.key)])
    # Steps before the chosen one too: without them it would never begin.
    found |= _undone(old, before, plan, _COMPENSATED)
    if retry.cancel_running:
        # Other branches that the cancel has stopped go on, too.
        found |= _undone(old, before, plan, (StepState.CANCELLED,))
    return found


def _undone(old: bytearray, before: Plan, plan: Plan, states: Collection[StepState]) -> set[int]:
    """Return the steps in these states, and what comes behind them and has not succeeded."""
    undone = {number for number in before.steps if old[number] in states}
    behind = plan.graph.downstream(undone & set(plan.steps))
    return {
        number
        for number in behind
        if number not in before.steps or old[number] != StepState.SUCCEEDED
    }
