"""Pause, resume, cancel and delete a batch of tasks, and cancel a batch of executions.

Each applies the verb of ``changing`` or ``cancellation`` to every item, by the same rules, in a
number of statements that does not depend on the number of items. All lock in the recorder's order:
executions by id, then tasks by id. They raise Unavailable, changing nothing, when Redis cannot be
asked about released work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from executions import transitions
from executions.bulk.items import Batch, Order
from executions.changes import bulk_pause, cancellation
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.parts_of_runs import refuse_step
from executions.querysets import ExecutionQuerySet
from executions.triggering import triggers
from shared.exceptions import PunctualError
from shared.sql import rows
from tasks import standing_pauses
from tasks import transitions as task_transitions
from tasks.choices import TaskStatus
from tasks.models import Pause as StandingPause
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tasks.transitions import Pause

_Require = Callable[[Task], None]


def pause_tasks(order: Order, batch: Batch) -> None:
    """Pause tasks: no execution starts until they are resumed; running ones continue."""
    pause = Pause(note=order.options.get("note", ""))
    now = database_now()
    tasks = _lock(order, batch, task_transitions.require_pausable, now)
    bulk_pause.stop(list(tasks), now)
    batch.note(*task_transitions.pause(list(tasks), pause, now))


def resume_tasks(order: Order, batch: Batch) -> None:
    """Resume tasks, or put them under an open standing pause that covers them.

    The caller shares the tenant's pauses.
    """
    _read_judged(order, batch)
    # Released work (run by hand during the pause) stays released; this only keeps the lock order.
    bulk_pause.lock_work(batch.open)
    locked = _lock_judged(batch)
    now = database_now()
    holder_of = partial(_holder_of, standing_pauses.current_holders(locked.values()))
    tasks = _allowed(
        batch, locked, partial(task_transitions.require_resumable, holder_of=holder_of)
    )
    paused = [task.id for task in tasks.values() if task.status == TaskStatus.PAUSED]
    if not paused:
        return
    covering = standing_pauses.holders(order.tenant_id, paused)
    task_transitions.forget_failures(covering)
    put_under(batch, covering, now)
    let_go(batch, [task_id for task_id in paused if task_id not in covering], now)


def put_under(batch: Batch, covering: Mapping[UUID, StandingPause], now: datetime) -> None:
    """Put locked tasks under the standing pauses given."""
    for pause in {pause.id: pause for pause in covering.values()}.values():
        under = [task_id for task_id, by in covering.items() if by.id == pause.id]
        batch.note(*task_transitions.pause(under, Pause.under(pause), now))


def let_go(batch: Batch, task_ids: list[UUID], now: datetime) -> None:
    """Resume locked tasks that are paused and that no pause covers; their failures count anew."""
    task_transitions.forget_failures(task_ids)
    batch.note(*bulk_pause.resume(task_ids, now))


def cancel_tasks(order: Order, batch: Batch) -> None:
    """Stop future fires and cancel unstarted executions; running ones continue."""
    now = database_now()
    tasks = _lock(order, batch, task_transitions.require_cancellable, now)
    going = [task.id for task in tasks.values() if task.status != TaskStatus.CANCELLED]
    batch.note(*task_transitions.cancel(going, now))
    _cancel_unstarted(tasks, "task_cancelled")


def delete_tasks(order: Order, batch: Batch) -> None:
    """Delete tasks: no further fires, history stays."""
    now = database_now()
    tasks = _lock(order, batch, _allow, now, whole=True)
    batch.note(*task_transitions.delete(tasks.values(), now))
    _cancel_unstarted(tasks, "task_deleted")


def cancel_executions(order: Order, batch: Batch) -> None:
    """Cancel executions: unstarted ones never start, running ones are aborted.

    A step of a run is refused: only its run can be cancelled.
    """
    locked = Execution.objects.for_tenant(order.tenant_id).held(batch.open)
    batch.require((row.id for row in locked), ExecutionQuerySet.called)
    for row in locked:
        _judge(batch, row.id, partial(refuse_step, row))
    left = set(batch.open)
    for row in locked:
        if row.id in left:
            _judge(batch, row.id, partial(cancellation.require_open, row))
    open_ = set(batch.open)
    cancellation.cancel_locked([row for row in locked if row.id in open_])
    for execution_id in batch.open:
        batch.note(cancellation.cancelled(execution_id))


def _lock(
    order: Order,
    batch: Batch,
    require: _Require,
    now: datetime,
    *,
    whole: bool = False,
) -> Mapping[UUID, Task]:
    """Take back the tasks' unfinished work and lock them; return the tasks that were not refused.

    They have the fields that rules ask for, or all with ``whole``.

    Refuses first: a voided token stays void when the transaction rolls back, and its execution
    would be late.
    """
    _allowed(batch, _read_judged(order, batch), require)
    bulk_pause.take_back(batch.open, now)
    tasks = _allowed(batch, (lock_tasks if whole else _lock_judged)(batch), require)
    # Work that materialize, dispatch and people added before the tasks were locked.
    bulk_pause.take_back(batch.open, now)
    return tasks


def read(order: Order, batch: Batch) -> dict[UUID, Task]:
    """Return the tasks that exist, unlocked; refuse the others."""
    return _there(batch, _open_tasks(order, batch))


def lock_tasks(batch: Batch) -> dict[UUID, Task]:
    """Lock the tasks that were not refused, in order of ids; refuse the deleted ones."""
    return _there(batch, triggers.lock_tasks(batch.open).values())


def _read_judged(order: Order, batch: Batch) -> dict[UUID, Task]:
    return _there(batch, _open_tasks(order, batch).judged())


def _lock_judged(batch: Batch) -> dict[UUID, Task]:
    return _there(batch, Task.objects.filter(pk__in=batch.open).locked().judged())


def _open_tasks(order: Order, batch: Batch) -> TaskQuerySet:
    return Task.objects.for_tenant(order.tenant_id).filter(pk__in=batch.open)


def _there(batch: Batch, found: Iterable[Task]) -> dict[UUID, Task]:
    """Return the tasks found that are not deleted, by id; refuse the others."""
    # A task may have been deleted while this waited for its lock.
    there = {task.id: task for task in found if task.deleted_at is None}
    batch.require(there, TaskQuerySet.called)
    return there


def _allowed(batch: Batch, tasks: Mapping[UUID, Task], require: _Require) -> dict[UUID, Task]:
    """Refuse the tasks that the rule refuses; return the others, in order of their ids."""
    for task in tasks.values():
        _judge(batch, task.id, partial(require, task))
    return {task_id: tasks[task_id] for task_id in batch.open}


def _judge(batch: Batch, item_id: UUID, rule: Callable[[], None]) -> None:
    try:
        rule()
    except PunctualError as error:
        batch.refuse(item_id, error)


def _allow(task: Task) -> None:
    """Refuse no task."""


def _holder_of(holders: Mapping[UUID, StandingPause], task: Task) -> StandingPause | None:
    return holders.get(task.id)


def _cancel_unstarted(task_ids: Iterable[UUID], reason: str) -> None:
    found = rows("changing/unstarted", {"tasks": list(task_ids)})
    transitions.cancel([(row[0], row[1]) for row in found], reason)
