"""Take back prepared or released work of a task, before its definition changes.

From the answer of an edit, pause or cancel on, no occurrence of the old definition starts: the
start guard voids released work first, and only voided work changes as unstarted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from executions import transitions
from executions.choices import Status, Trigger
from shared.ids import first_id_at
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from tasks import transitions as task_transitions
from tasks.budgets import purses
from tasks.definition import Definition, destination_of, pool_of, runtime_seconds
from tasks.models import Task
from tasks.versions import FIRST_REDIRECTED, is_redirected
from wire import start_guard


@dataclass(frozen=True, slots=True)
class Open:
    """One unfinished execution of a task, locked."""

    id: UUID
    status: str
    token: int | None
    scheduled_for: datetime
    attempt: int
    trigger: str
    revision: int

    @property
    def redirected(self) -> bool:
        """Whether it is of a replay into another place, which no edit of the task reaches."""
        return is_redirected(self.revision)

    @property
    def prepared(self) -> bool:
        """Whether it waits for its first attempt."""
        return self.status == Status.PENDING and self.attempt == 0

    @property
    def planned(self) -> bool:
        """Whether it is an expectation of the schedule that has not begun."""
        return self.prepared and self.trigger == Trigger.SCHEDULE


def take_back(task_id: UUID, now: datetime) -> list[Open]:
    """Lock the task's unfinished work and withdraw the released part; return all of it.

    Executions that the guard reports as started are RUNNING from here on. Raise Unavailable,
    changing nothing, when released work exists and Redis cannot be asked.
    """
    found = lock(task_id)
    queued = [row for row in found if row.status == Status.QUEUED]
    if not queued:
        return found
    holders = start_guard.void([row.token for row in queued if row.token is not None])
    pairs = [(row, by) for row, by in zip(queued, holders, strict=True)]
    transitions.withdraw([(row.id, row.token or 0) for row, by in pairs if not by])
    transitions.mark_running([(row.id, row.token or 0, by, now) for row, by in pairs if by])
    # Work that stays is near its time and must be released anew without waiting for a look.
    wake_schedulers_in(0.0)
    return lock(task_id)


def lock(task_id: UUID) -> list[Open]:
    """Lock the task's unfinished work against dispatch and the recorder; return it."""
    parameters: dict[str, Any] = {"task": task_id}
    return [Open(*row) for row in rows("changing/lock_open_of_task", parameters)]


def remove(found: list[Open]) -> None:
    """Take prepared rows out of the ledger: expectations of a schedule that no longer exists.

    The budget of their locked task gets back those that the gate has let through.
    """
    if found:
        counted = rows("changing/remove_prepared", {"ids": [row.id for row in found]})
        purses.give_back(dict(counted))


def remove_excluded(task_id: UUID, since: datetime) -> None:
    """Take instants out of the ledger that a calendar excluded ahead of their time."""
    low = first_id_at(since)
    run("changing/remove_excluded", {"task": task_id, "low": low, "since": since})


def adopt(task: Task, definition: Definition, found: list[Open]) -> None:
    """Move prepared rows to the task's new version, its overlap policy and its limit."""
    _adopt([(task, definition)], [row.id for row in found])


def adopt_many(revised: Sequence[tuple[Task, Definition]]) -> None:
    """Move prepared rows of locked tasks to the tasks' new versions, as :func:`adopt`."""
    tasks = [task.id for task, _ in revised]
    found = rows("changing/prepared", {"tasks": tasks, "redirected": FIRST_REDIRECTED})
    _adopt(revised, [row[0] for row in found])


def _adopt(revised: Sequence[tuple[Task, Definition]], ids: list[UUID]) -> None:
    tasks, definitions = [task for task, _ in revised], [one for _, one in revised]
    if ids:
        run(
            "changing/adopt_prepared",
            {
                "ids": ids,
                "tasks": [task.id for task in tasks],
                "revisions": [task.version for task in tasks],
                "priorities": [task.priority for task in tasks],
                "max_attempts": [one.retry_policy["max_attempts"] for one in definitions],
                "timeouts": [runtime_seconds(one.target) for one in definitions],
                "pools": [pool_of(one.target) for one in definitions],
                "destinations": [destination_of(one.target) for one in definitions],
            },
        )
        run("changing/key_prepared", {"ids": ids, "redirected": FIRST_REDIRECTED})
        if changed := rows("changing/gate_prepared", {"ids": ids}):
            # Rows that left the gate, or wait for it from now on, are near their time.
            wake_schedulers_in(0.0)
            purses.give_back({task: count for task, count in changed if count})
    parameters = {"tasks": [task.id for task in tasks], "redirected": FIRST_REDIRECTED}
    run("changing/count_open", parameters)


def hold(task_ids: Sequence[UUID], held: bool) -> None:
    """Put the work of locked tasks on hold, so that it is not dispatched, or free it.

    A freed task with nothing ahead takes its state from its last execution, which may have ended
    during the pause.
    """
    parameters: dict[str, Any] = {"tasks": list(task_ids)}
    run("changing/hold", {**parameters, "held": held})
    if not held:
        task_transitions.settle_resumed(task_ids)
