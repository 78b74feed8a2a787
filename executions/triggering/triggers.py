"""Make executions outside the schedule: run now, retry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions import transitions
from executions.choices import FINAL, Trigger
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.parts_of_runs import refuse_part
from executions.payloads import as_readable, payload_of, seal_payload
from executions.redacted_fields import with_restored
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.ids import new_id, series_id
from shared.notify import wake_schedulers_in
from tasks import standing_pauses
from tasks.budgets import purses
from tasks.definition import WORKFLOW_POOL
from tasks.limits import current_limits
from tasks.models import Task
from tasks.payloads import check_payload_size, json_problem
from tasks.revisions import input_schema_of, open_payload
from tasks.validation.input_schema import check_input
from tasks.versions import is_redirected


@dataclass(frozen=True, slots=True)
class Override:
    """A payload that takes the place of the task's."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Route:
    """What the version of a replay's execution says, in place of its task's. Unit: seconds."""

    version: int
    pool: str
    destination: str
    max_attempts: int
    timeout_seconds: float


#: No route: the statement takes each column from the task.
_AS_ITS_TASK = dict.fromkeys(field.name for field in fields(Route))


@dataclass(frozen=True, slots=True)
class Made:
    """An execution that was made, and its audit entry, which is written last."""

    execution_id: UUID
    change: audit.Change

    @property
    def execution(self) -> Execution:
        """Return the execution, read anew."""
        return Execution.objects.get(pk=self.execution_id)


@transaction.atomic
def run_task(
    tenant_id: UUID, task_id: UUID, override: Override | None, *, actor: Actor
) -> Execution:
    """Run a task now, beside its schedule, also while it is paused.

    The payload is the input of a workflow's run, without one null. Raise InvalidInput
    ``schema_mismatch`` where the workflow's ``input_schema`` refuses it, Conflict
    ``budget_exceeded`` where the task's budget is used up.
    """
    require_portable(override)
    standing_pauses.share_active(tenant_id)
    task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    made = begin_run(task, override, database_now(), actor)
    wake_for_made()
    audit.record_many(tenant_id, actor, [made.change])
    return made.execution


@transaction.atomic
def retry_execution(
    tenant_id: UUID, execution_id: UUID, override: Override | None, *, actor: Actor
) -> Execution:
    """Run a finished execution's work again, as a new execution linked to it.

    The payload is the original's unless given; the target is the task's current one, so that the
    retry uses a mended task. Raise Conflict while the original is unfinished, and ``part_of_run``
    for a step or a take of a run.
    """
    require_portable(override)
    standing_pauses.share_active(tenant_id)
    original = Execution.objects.get_for_tenant(tenant_id, execution_id, lock=True)
    tasks = lock_tasks([original.task_id])
    made = begin_retry(original, tasks[original.task_id], override, database_now(), actor)
    wake_for_made()
    audit.record_many(tenant_id, actor, [made.change])
    return made.execution


def require_portable(override: Override | None) -> None:
    """Raise InvalidInput for a payload that JSON cannot carry; doors that read text check first."""
    problem = json_problem(override.payload, "#/payload") if override else None
    if problem:
        raise InvalidInput([FieldError(*problem)], problem[2])


def lock_tasks(task_ids: Iterable[UUID]) -> dict[UUID, Task]:
    """Lock tasks, deleted ones too; return them by id."""
    # The race: the recorder settles the tasks of its batch. Two sessions that lock several tasks in
    # different orders would deadlock, so all lock by id.
    tasks = Task.objects.filter(pk__in=set(task_ids))
    found = {task.id: task for task in tasks.locked()}
    if len(found) > 1:
        # So do their budgets, which the recorder of steps locks without the tasks.
        purses.lock(sorted(task.id for task in found.values() if task.limited))
    return found


def begin_run(task: Task, override: Override | None, now: datetime, actor: Actor) -> Made:
    """Insert a run of a locked task; the caller wakes and audits, once for all that it makes.

    Raise InvalidInput for an input that the schema of a workflow refuses.
    """
    require_input(task, None if override is None else override.payload)
    if override is not None:
        before = partial(open_payload, task.id, task.version)
        override = Override(with_restored(override.payload, task.id, task.version, before))
    execution_id = _insert(task, override, None, now, actor)
    return Made(
        execution_id, audit.Change("task.run", "task", task.id, after={"id": str(execution_id)})
    )


def require_input(task: Task, value: Any) -> None:
    """Raise InvalidInput for a workflow whose ``input_schema`` refuses a value; None: no input."""
    if task.pool == WORKFLOW_POOL:
        check_input(input_schema_of(task), value)


def begin_retry(
    original: Execution, task: Task, override: Override | None, now: datetime, actor: Actor
) -> Made:
    """Insert the retry of a locked execution; the caller wakes and audits, as after a run."""
    wanted = _payload_for(original, override)
    return _retried(original, retry_of(original, task, wanted, now, actor))


def begin_replay(
    original: Execution, task: Task, find_route: Callable[[], Route], now: datetime, actor: Actor
) -> Made:
    """Insert the replay of a locked execution into another place, as :func:`begin_retry`."""
    wanted = _payload_for(original, None)
    _require_there(task)
    return _retried(original, _insert(task, wanted, original, now, actor, find_route()))


def _payload_for(original: Execution, override: Override | None) -> Override:
    refuse_part(original)
    if original.status not in FINAL:
        raise Conflict(f"The execution is {original.status}; only a finished one is retried.")
    before = as_readable(partial(payload_of, original)).whole
    if override is None:
        return Override(before())
    return Override(with_restored(override.payload, original.task_id, original.revision, before))


def _retried(original: Execution, execution_id: UUID) -> Made:
    facts = {"id": str(execution_id)}
    return Made(
        execution_id, audit.Change("execution.retried", "execution", original.id, None, facts)
    )


def retry_of(
    original: Execution, task: Task, override: Override, now: datetime, actor: Actor
) -> UUID:
    """Insert the retry of an execution of a locked task; return its id. The caller wakes.

    An execution that was replayed into another place goes there again, never to the task's target.
    Raise Conflict ``task_deleted``: a deleted task runs nothing; ``part_of_run``: a step or a take
    is retried by its run.
    """
    refuse_part(original)
    _require_there(task)
    route = None
    if is_redirected(original.revision):
        route = Route(
            version=original.revision,
            pool=original.pool,
            destination=original.destination,
            max_attempts=original.max_attempts,
            timeout_seconds=original.timeout_seconds,
        )
    return _insert(task, override, original, now, actor, route)


def _require_there(task: Task) -> None:
    if task.deleted_at is not None:
        raise Conflict("The task has been deleted.", code="task_deleted")


def wake_for_made() -> None:
    """Wake the schedulers for the executions of this transaction, which are due at once."""
    wake_schedulers_in(0.0)


def _insert(
    task: Task,
    override: Override | None,
    original: Execution | None,
    now: datetime,
    actor: Actor,
    route: Route | None = None,
) -> UUID:
    """Insert a run, or the retry of an execution, in the trace of the requesting call."""
    if task.limited and route is None:
        purses.begin_run(task.id)
    trigger = Trigger.RETRY if original else Trigger.MANUAL
    execution_id = series_id(task.id, now, now, f"{trigger}:{new_id()}")
    if override is not None:
        check_payload_size(override.payload, current_limits().payload_bytes)
    return transitions.insert_manual(
        {
            "id": execution_id,
            "task": task.id,
            **(asdict(route) if route else _AS_ITS_TASK),
            "trigger": trigger.value,
            "scheduled_for": original.scheduled_for if original else now,
            "sealed_payload": (
                None
                if override is None
                else seal_payload(override.payload, task.tenant_id, execution_id)
            ),
            "parent": original.id if original else None,
            "trace": actor.trace or None,
        }
    )
