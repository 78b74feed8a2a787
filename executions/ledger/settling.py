"""Apply moved executions to their tasks, and collect the facts for their minute and the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from executions.choices import Status, Trigger
from executions.ledger import final_log
from executions.ledger.final_log import Final, LastAttempt
from executions.ledger.minute_stats import Ended, Kind
from executions.ledger.objectives import late_cause, own_fault
from executions.models.minute_stat import LATE_ABOVE_MS, START_TARGET_MS
from shared.notify import wake_schedulers_in
from shared.sql import Asked, rows, run, together
from shared.sql_arrays import of_integers, of_moments, of_texts, of_uuids
from tasks import transitions as task_transitions
from tasks.timing_targets import start_targets
from tasks.versions import FIRST_REDIRECTED, is_of_step

#: Triggers of the runs of a schedule; others end no task.
_OF_SCHEDULE = frozenset({Trigger.SCHEDULE, Trigger.RETRY})


class Settled(NamedTuple):
    """The facts of a moved execution that its task needs."""

    id: UUID
    task_id: UUID
    status: str
    trigger: str
    revision: int
    #: None while it is RETRYING.
    finished_at: datetime | None


class Moved(NamedTuple):
    """A row of the statements that record the outcome of an attempt, in their order."""

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
    #: The run of a workflow that it is a step of.
    run_id: UUID | None
    #: Of the attempt: its duration, and the bytes of its sealed answer or log.
    milliseconds: int
    recorded_bytes: int
    #: From the later of its due time and its handing out to its start; None for leased work.
    waited_ms: float | None
    priority: int
    #: False where it had ended before; see first_ends.
    first: bool

    def ended(self, outcome: str, error_code: str) -> Ended:
        """Return the facts that its minute counts; the outcome is that of the attempt."""
        is_leased = self.waited_ms is None
        return Ended(
            self.id,
            self.tenant_id,
            self.status,
            self.attempt,
            self.start_delay_ms,
            self.minute,
            Kind.STEP if is_of_step(self.revision) else Kind.TASK,
            self.milliseconds,
            self.recorded_bytes,
            self.priority,
            late_cause(self.start_delay_ms, self.waited_ms) if self.attempt == 1 else "",
            own_fault(outcome, error_code, leased=is_leased) if outcome else "",
        )

    @property
    def late_ms(self) -> float | None:
        """How late its first attempt, which has just ended, had started; None where in time."""
        delay_ms = self.start_delay_ms
        if delay_ms is None or delay_ms <= LATE_ABOVE_MS or self.attempt != 1:
            return None
        return delay_ms

    @property
    def of_task(self) -> Settled:
        """The facts that its task needs."""
        return Settled(
            self.id, self.task_id, self.status, self.trigger, self.revision, self.finished_at
        )

    @property
    def final(self) -> Final:
        """The facts for the log line of an end without success."""
        ids = (self.id, self.tenant_id, self.status, self.attempt, self.task_id)
        return Final(*ids, self.reason, self.trace_context)


def note_lines(moved: Sequence[Moved], attempts: Sequence[LastAttempt]) -> None:
    """Log, on commit, the ends without success and the starts over their target of one batch."""
    final_log.note_ended([row.final for row in moved if row.without_success], attempts)
    late = [(row, ms) for row in moved if (ms := row.late_ms) is not None]
    if late:
        # Nothing is asked where all started in time. A step has no target of its own.
        own = start_targets({row.task_id for row, _ in late})
        usual = START_TARGET_MS / 1000
        over = [
            (row.final, ms)
            for row, ms in late
            if ms > 1000 * (usual if is_of_step(row.revision) else own.get(row.task_id, usual))
        ]
        final_log.note_late(over, attempts)


class _Said(NamedTuple):
    """The facts of all moved executions of one task."""

    last: Settled
    succeeded_at: datetime | None
    #: Failures since then.
    streak: int


def first_ends(moved: list[tuple[Any, ...]], task_at: int) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that ends executions, except the ones that had ended before.

    Their last column marks them; ``task_at`` is the column of the task. A second end counts
    nowhere: it is logged when the transaction commits, and its task may be over with it.
    """
    again = [row for row in moved if not row[-1]]
    if not again:
        return moved
    final_log.note_ended_before([row[0] for row in again])
    end_tasks(list({row[task_at] for row in again}))
    return [row for row in moved if row[-1]]


def joined(path: str, parameters: dict[str, object], *more: Asked) -> list[tuple[Any, ...]]:
    """Run a statement that joins a batch with a table, without nested loops for any statistics.

    ``more`` statements run after it in the same way; their rows are left out.
    """
    before: Asked = ("complete/plan_hashed", {})
    after: Asked = ("complete/plan_freely", {})
    return together(before, (path, parameters), *more, after)[1].rows


def end_tasks(task_ids: list[UUID]) -> None:
    """End the tasks whose schedule has nothing left to run."""
    run("complete/lock_tasks", {"task_ids": task_ids})
    task_transitions.complete(task_ids)


def begin_tasks(task_ids: list[UUID]) -> None:
    """Set one-time tasks whose executions are under way to RUNNING."""
    waiting = [row[0] for row in rows("complete/lock_one_time_tasks", {"task_ids": task_ids})]
    if waiting:
        task_transitions.begin(waiting)


def settle(moved: Sequence[Settled], freed: Sequence[UUID]) -> set[UUID]:
    """Settle the tasks of moved executions; wake the gate where work waits for a freed place.

    ``freed`` are the tasks whose places these took; no other task is checked. Return the recurring
    tasks whose work the gate decides on, now locked: others have no budget.
    """
    said = _by_task([row for row in moved if row.revision < FIRST_REDIRECTED])
    gated: set[UUID] = set()
    if said:
        locked = rows("complete/lock_tasks", {"task_ids": of_uuids(said)})
        recurring = {row[0] for row in locked}
        gated = {row[0] for row in locked if row[1]}
        one_time = {task: one for task, one in said.items() if task not in recurring}
        if one_time:
            task_transitions.settle(_columns(one_time))
        if recurring:
            recurred = _columns({task: said[task] for task in recurring})
            failures = task_transitions.counted_failures(recurred)
            over = [row[0] for row in joined("complete/note_last_runs", recurred, failures)]
            if over:
                task_transitions.complete(over)
    if freed:
        wanted = {"task_ids": list(set(freed))}
        if rows("gate/somebody_waits", wanted)[0][0]:
            wake_schedulers_in(0.0)
    return gated


def _columns(said: Mapping[UUID, _Said]) -> dict[str, object]:
    return {
        "task_ids": of_uuids(said),
        "ids": of_uuids([one.last.id for one in said.values()]),
        "statuses": of_texts([one.last.status for one in said.values()]),
        "triggers": of_texts([one.last.trigger for one in said.values()]),
        "succeeded_at": of_moments([one.succeeded_at for one in said.values()]),
        "streaks": of_integers([one.streak for one in said.values()]),
    }


def _by_task(moved: Sequence[Settled]) -> dict[UUID, _Said]:
    """Return the facts for each task; ``last`` is the latest of its schedule, if there is one."""
    said: dict[UUID, _Said] = {}
    several: dict[UUID, list[Settled]] = {}
    for row in moved:
        known = said.get(row.task_id)
        if known is not None:
            several.setdefault(row.task_id, [known.last]).append(row)
        elif row.status == Status.SUCCEEDED:
            said[row.task_id] = _Said(row, row.finished_at, 0)
        else:
            said[row.task_id] = _Said(row, None, int(row.status == Status.FAILED))
    return said | {task: _said_by(rows_) for task, rows_ in several.items()}


def _said_by(moved: Sequence[Settled]) -> _Said:
    def ends(status: str) -> list[datetime]:
        return [row.finished_at for row in moved if row.status == status and row.finished_at]

    succeeded_at = max(ends(Status.SUCCEEDED), default=None)
    failures = [at for at in ends(Status.FAILED) if succeeded_at is None or at > succeeded_at]
    last = max(moved, key=lambda row: (row.trigger in _OF_SCHEDULE, row.id))
    return _Said(last, succeeded_at, len(failures))
