"""Apply standing pauses: pause many tasks at once, and resume them when the pause has ended.

``changes.pauses`` begins and ends them for people; the scheduler ends expired ones, a bounded
number of tasks per pass. The statements are few for any number of tasks. All lock in the recorder's
order: executions by id, then tasks by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit, outbox
from executions import transitions
from executions.changes import paused_places, withdrawal
from executions.loop.clocks import database_now
from executions.ownership.partitions import Partitions
from shared.actor import SYSTEM, Actor
from shared.conf import conf
from shared.ids import first_id_at, partition_of
from shared.notify import wake_schedulers_in
from shared.sql import rows, together
from tasks import standing_pauses
from tasks import transitions as task_transitions
from tasks.budgets import purses
from tasks.models import Pause, Task
from tasks.transitions import Pause as Terms
from wire import start_guard

#: The name of the event that reports that a pause has begun, ended or freed tasks.
CHANGED = "pause.changed"
#: Tokens that one call to the start guard voids.
_VOIDED_AT_ONCE = 5000
#: Tasks that the scheduler frees in one transaction: its other stages must not wait long.
_LET_GO_AT_ONCE = 500
_PAUSES = 20
#: More tasks than any tenant has.
ALL = 2**31 - 1


def hold(pause: Pause, task_ids: Sequence[UUID], now: datetime) -> int:
    """Put these tasks under a pause; return how many it really holds.

    From the commit on none of their executions starts; running ones continue. ``on_resume``
    decides about instants planned from now on. The caller owns the tenant's pauses. Raise
    Unavailable, changing nothing, when released work exists and Redis cannot be asked.
    """
    if not task_ids:
        return 0
    take_back(task_ids, now)
    held = _ids("pausing/lock_pausable", tasks=list(task_ids))
    # Work that materialize, dispatch and people added before the tasks were locked.
    take_back(held, now)
    stop(held, now)
    task_transitions.pause(held, Terms.under(pause), now)
    return len(held)


def stop(task_ids: Sequence[UUID], now: datetime) -> None:
    """Put the work of locked tasks on hold, and leave instants from now on to ``on_resume``.

    The caller has taken their released work back.
    """
    wanted = {"tasks": list(task_ids), "ahead": first_id_at(now), "now": now}
    # The gate counts again what it lets through again.
    purses.give_back(dict(rows("pausing/unplan", wanted)))
    withdrawal.hold(task_ids, held=True)


def resume(task_ids: Sequence[UUID], now: datetime) -> list[audit.Change]:
    """Resume locked tasks and free their work; return the audit changes.

    ``on_resume`` decides about instants that fell into their pause.
    """
    if not task_ids:
        return []
    changes = task_transitions.resume(task_ids, now)
    withdrawal.hold(task_ids, held=False)
    wake_schedulers_in(0.0)
    return changes


def end(pause: Pause, *, actor: Actor, now: datetime) -> bool:
    """Mark a pause as ended; return False when it had ended already. It still holds its tasks.

    Steps of workflows that it held are free. The caller shares or owns the tenant's pauses.
    """
    still_open = Pause.objects.open().filter(pk=pause.pk)
    if not still_open.update(ended_at=now, ended_by=actor.name[:200]):
        return False
    paused_places.free_steps(pause.tenant_id)
    return True


def record_end(pause: Pause, count: int, actor: Actor) -> None:
    """Audit the end of a pause that held ``count`` tasks; call it last in the transaction."""
    facts = {"scope": pause.scope, "value": pause.value, "tasks": count}
    audit.record(pause.tenant_id, actor, "pause.ended", "pause", pause.id, after=facts)


@transaction.atomic
def let_go(pause: Pause, now: datetime, limit: int = ALL) -> int:
    """Free up to ``limit`` tasks of an ended pause; return how many.

    The oldest other open pause that covers a task takes it over; uncovered tasks resume. The caller
    shares or owns the tenant's pauses.
    """
    found = _ids("pausing/held_tasks", pause=pause.id, limit=limit)
    if not found:
        return 0
    lock_work(found)
    held = _ids("pausing/lock_held", tasks=found, pause=pause.id)
    resume(_hand_over(pause, held, now), now)
    outbox.append(pause.tenant_id, CHANGED, pause.id)
    return len(held)


def end_due(partitions: Partitions) -> tuple[int, bool]:
    """End expired pauses, and free a bounded number of tasks, for the scheduler.

    Return how many tasks it freed, and whether more wait.
    """
    limit = {"limit": _PAUSES}
    to_end, to_let_go = together(("pausing/to_end", limit), ("pausing/to_let_go", limit))
    for pause in _mine(to_end.rows, partitions):
        with transaction.atomic():
            standing_pauses.share(pause.tenant_id)
            if end(pause, actor=SYSTEM, now=database_now()):
                held = Task.objects.filter(pause_id=pause.id).count()
                record_end(pause, held, SYSTEM)
    # Pauses that this pass ended free their tasks at once.
    ended = rows("pausing/to_let_go", limit) if to_end.rows else to_let_go.rows
    done = 0
    for pause in _mine(ended, partitions):
        with transaction.atomic():
            standing_pauses.share(pause.tenant_id)
            done += let_go(pause, database_now(), _LET_GO_AT_ONCE)
        if done >= _LET_GO_AT_ONCE:
            return done, True
    return done, False


def _hand_over(pause: Pause, held: list[UUID], now: datetime) -> list[UUID]:
    """Put the tasks under other open pauses that cover them; return the uncovered tasks."""
    free = set(held)
    for other in Pause.objects.for_tenant(pause.tenant_id).open().order_by("created_at", "id"):
        under = Task.objects.filter(pause_id=pause.id)
        ids = standing_pauses.covered(under, other.scope, other.value).values_list("id", flat=True)
        taken = sorted(free & set(ids))
        if taken:
            task_transitions.hand_over(taken, other, now)
            free -= set(taken)
    return sorted(free)


def _mine(found: list[tuple[Any, ...]], partitions: Partitions) -> list[Pause]:
    # Pauses of the owned partitions: several schedulers would only wait for each other.
    count = conf().partition_count
    ids = [row[0] for row in found if partition_of(row[0], count) in partitions.held]
    return list(Pause.objects.filter(pk__in=ids).order_by("id"))


def take_back(task_ids: Sequence[UUID], now: datetime) -> None:
    """Lock the tasks' work; withdraw released executions, and mark started ones as running.

    Raise Unavailable, changing nothing, when Redis cannot be asked about released work.
    """
    withdraw_released(lock_work(task_ids), now)


def withdraw_released(released: Sequence[tuple[UUID, int]], now: datetime) -> None:
    """Withdraw locked, released (execution, token) pairs; mark started ones as running."""
    for start in range(0, len(released), _VOIDED_AT_ONCE):
        batch = released[start : start + _VOIDED_AT_ONCE]
        holders = start_guard.void([token for _, token in batch])
        pairs = list(zip(batch, holders, strict=True))
        transitions.withdraw([row for row, by in pairs if not by])
        transitions.mark_running([(*row, by, now) for row, by in pairs if by])
    if released:
        # Withdrawn or started, the set of due work has changed.
        wake_schedulers_in(0.0)


def lock_work(task_ids: Sequence[UUID]) -> list[tuple[UUID, int]]:
    """Lock the tasks' unfinished work by id; return (execution, token) of the released part."""
    parameters = {"tasks": list(task_ids)}
    return [(row[0], row[1]) for row in rows("pausing/lock_work", parameters)]


def _ids(statement: str, **parameters: Any) -> list[UUID]:
    return [row[0] for row in rows(statement, parameters)]
