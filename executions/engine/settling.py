"""What executions that have moved say of their tasks, their minute and the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from executions.engine import final_log
from executions.engine.final_log import Final
from executions.engine.minute_stats import Ended
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from shared.sql_arrays import of_moments, of_texts, of_uuids
from tasks.versions import FIRST_REDIRECTED


class Settled(NamedTuple):
    """What an execution that moved says of its task."""

    id: UUID
    task_id: UUID
    status: str
    trigger: str
    revision: int
    #: None while it is RETRYING.
    finished_at: datetime | None


class Moved(NamedTuple):
    """A row of the statements that record what came of an attempt, in their order."""

    id: UUID
    tenant_id: UUID
    status: str
    attempt: int
    start_delay_ms: float | None
    minute: datetime
    task_id: UUID
    trigger: str
    revision: int
    finished_at: datetime | None
    #: The task whose place it took and has left.
    freed: UUID | None
    without_success: bool
    reason: str
    trace_context: str | None
    #: False where it had ended before; see first_ends.
    first: bool

    @property
    def ended(self) -> Ended:
        """What its minute counts."""
        return Ended(
            self.id, self.tenant_id, self.status, self.attempt, self.start_delay_ms, self.minute
        )

    @property
    def of_task(self) -> Settled:
        """What it says of its task."""
        return Settled(
            self.id, self.task_id, self.status, self.trigger, self.revision, self.finished_at
        )

    @property
    def final(self) -> Final:
        """What the log says of an end without success."""
        ids = (self.id, self.tenant_id, self.status, self.attempt, self.task_id)
        return Final(*ids, self.reason, self.trace_context)


def first_ends(moved: list[tuple[Any, ...]], task_at: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that ends executions without those that had ended before.

    Their last column says which; ``task_at`` is the column of the task. Nothing of a second end
    counts: the log tells it when the transaction commits, and its task may be over with it.
    """
    again = [row for row in moved if not row[-1]]
    if not again:
        return moved
    final_log.note_ended_before([row[0] for row in again])
    end_tasks(list({row[task_at] for row in again}))
    return [row for row in moved if row[-1]]


def end_tasks(task_ids: list[UUID]) -> None:
    """End those tasks of whose schedule nothing is left to run."""
    run("complete/lock_tasks", {"task_ids": task_ids})
    run("gate/end_tasks", {"task_ids": task_ids})


def begin_tasks(task_ids: list[UUID]) -> None:
    """Note of one-time tasks whose executions are under way that they are RUNNING."""
    waiting = [row[0] for row in rows("complete/lock_one_time_tasks", {"task_ids": task_ids})]
    if waiting:
        run("complete/run_one_time_tasks", {"task_ids": waiting})


def settle(moved: Sequence[Settled], freed: Sequence[UUID]) -> None:
    """Settle the tasks of what has moved; let the gate look where a place that is free is wanted.

    ``freed`` are the tasks whose places these took. Nothing is asked for any other.
    """
    own = [row for row in moved if row.revision < FIRST_REDIRECTED]
    parameters = {
        "ids": of_uuids([row.id for row in own]),
        "task_ids": of_uuids([row.task_id for row in own]),
        "statuses": of_texts([row.status for row in own]),
        "triggers": of_texts([row.trigger for row in own]),
        "finished_at": of_moments([row.finished_at for row in own]),
    }
    if own:
        run("complete/lock_tasks", {"task_ids": parameters["task_ids"]})
        over = [row[0] for row in rows("complete/settle_tasks", parameters)]
        if over:
            run("gate/end_tasks", {"task_ids": over})
    if freed:
        wanted = {"task_ids": list(set(freed))}
        if rows("gate/somebody_waits", wanted)[0][0]:
            wake_schedulers_in(0.0)
