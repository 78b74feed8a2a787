"""Apply the suspension of a tenant to its work: none of it starts or is leased until the end.

A suspension is a standing pause over every task of the tenant, which the tenant cannot see or end.
It also holds work that no pause holds, such as a run that a person requested while its task was
paused. Running executions continue and may end.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from executions.changes import bulk_pause
from executions.loop.clocks import database_now
from shared.actor import SYSTEM, Actor
from shared.exceptions import Unavailable
from shared.ids import new_id
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from tasks import standing_pauses
from tasks.choices import AS_MISSED, SUSPENSION, TaskStatus
from tasks.models import Pause, Task
from tasks.quotas import limits_steps

log = logging.getLogger("executions.engine.suspension")

#: Tenants that one pass of the scheduler mends.
_MENDED_AT_ONCE = 5


def begin(tenant_id: UUID, actor: Actor) -> None:
    """Put all work of a suspended tenant on hold; a repeat adds work that is not on hold yet.

    Runs in the transaction that suspends. Raise Unavailable, changing nothing, when released work
    exists and Redis cannot be asked about it.
    """
    standing_pauses.own(tenant_id)
    run("bulk/take_time")
    now = database_now()
    work = _lock_work(tenant_id)
    pause = _open(tenant_id)
    if pause is None:
        pause = Pause(
            id=new_id(),
            tenant_id=tenant_id,
            scope=SUSPENSION,
            on_resume=AS_MISSED,
            created_by=actor.name[:200],
            created_at=now,
        )
        pause.save(force_insert=True)
    active = (TaskStatus.SCHEDULED, TaskStatus.RUNNING)
    tasks = Task.objects.for_tenant(tenant_id).filter(status__in=active)
    bulk_pause.hold(pause, list(tasks.values_list("id", flat=True)), now)
    _hold_other_work(work)


def end(tenant_id: UUID, actor: Actor) -> None:
    """Free all work that the suspension of a tenant holds.

    Runs in the transaction that resumes. A task that another open pause covers goes under that
    pause. For the others the misfire policy decides about each instant that fell into the
    suspension.
    """
    standing_pauses.own(tenant_id)
    run("bulk/take_time")
    now = database_now()
    work = _lock_work(tenant_id)
    pause = _open(tenant_id)
    if pause is not None and bulk_pause.end(pause, actor=actor, now=now):
        bulk_pause.let_go(pause, now)
    scope = {"ids": work, "limited": limits_steps(tenant_id)}
    run("pausing/release_suspended_work", scope)
    wake_schedulers_in(0.0)


def mend() -> int:
    """Mend tenants whose work does not match their suspension; return how many.

    The scheduler calls this. Another version, or a change past the service, has suspended or
    resumed these tenants. Work that needs Redis while it is away waits for the next pass.
    """
    found = rows("pausing/out_of_step", {"limit": _MENDED_AT_ONCE})
    try:
        return sum(_mend(row[0]) for row in found)
    except Unavailable as error:
        log.warning("suspension.postponed", extra={"reason": error.message})
        return 0


@transaction.atomic
def _mend(tenant_id: UUID) -> bool:
    # Lock the tenant first, as suspending and resuming do; check again under the lock.
    locked = rows("pausing/lock_tenant", {"tenant": tenant_id})
    if not locked or locked[0][0] == (_open(tenant_id) is not None):
        return False
    (begin if locked[0][0] else end)(tenant_id, SYSTEM)
    return True


def _open(tenant_id: UUID) -> Pause | None:
    found: Pause | None = (
        Pause.objects.for_tenant(tenant_id).open().filter(scope=SUSPENSION).first()
    )
    return found


def _lock_work(tenant_id: UUID) -> list[UUID]:
    return [row[0] for row in rows("pausing/lock_tenant_work", {"tenant": tenant_id})]


def _hold_other_work(work: Sequence[UUID]) -> None:
    """Put the locked rows on hold that no pause of a task holds."""
    found = rows("pausing/other_work", {"ids": list(work)})
    released = [(row[0], row[1]) for row in found if row[1] is not None]
    bulk_pause.withdraw_released(released, database_now())
    if found:
        run("pausing/hold_other_work", {"ids": [row[0] for row in found]})
