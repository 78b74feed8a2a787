"""Hold the steps of a paused run that have not started, and free them when it goes on.

The pause of a run comes before all others: a step that a paused place or a suspension holds as well
waits for its run, and is judged by these when the run goes on. A step that is a run of another
workflow waits as well, outside the gate of that workflow; one that has begun goes on.
"""

from __future__ import annotations

from uuid import UUID

from executions.changes import bulk_pause
from executions.changes.paused_places import reasons_to_hold
from executions.choices import Status
from executions.loop.clocks import database_now
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from tasks.budgets import purses
from tasks.quotas import limits_steps

#: The reason of a step that waits for its run; the statements repeat it.
RUN_PAUSED = "run_paused"


def hold_steps_of(run_id: UUID, limit: int) -> int:
    """Take back steps of a run that wait for a worker, and hold them; return how many.

    Running ones continue; a retry that may follow waits. Raise Unavailable, changing nothing, when
    Redis cannot be asked about released work.
    """
    wanted = {"run": run_id, "limit": limit}
    found = rows("pausing/lock_steps_to_hold", wanted)
    released = [(row[0], row[2]) for row in found if row[1] == Status.QUEUED and row[2]]
    bulk_pause.withdraw_released(released, database_now())
    if found:
        let_through = rows("pausing/hold_steps_of_run", {"ids": [row[0] for row in found]})
        # They wait for the gate again, which counts them again.
        purses.give_back(dict(let_through))
    return len(found)


def free_steps_of(tenant_id: UUID, run_id: UUID, limit: int) -> int:
    """Free steps that only the pause of their run holds; return how many it has held.

    The caller shares the tenant's pauses.
    """
    found = rows("pausing/lock_steps_to_free", {"run": run_id, "limit": limit})
    if not found:
        return 0
    reason = reasons_to_hold([tenant_id])
    reasons = [reason(tenant_id, pool, destination) for _, pool, destination in found]
    scope = {"ids": [row[0] for row in found], "limited": limits_steps(tenant_id)}
    run("pausing/free_steps_of_run", {**scope, "reasons": reasons})
    wake_schedulers_in(0.0)
    return len(found)
