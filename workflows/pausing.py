"""Takes back the steps of paused runs that have not started, and gives them back.

A pause and a resume write a mark beside the phase of the run. After the commit the steps are held
or freed without the run's lock, as the phase says, until none is left; then the mark goes. Where a
process dies before, the repair pass finds the mark.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from executions.changes.paused_runs import free_steps_of, hold_steps_of
from executions.choices import RunPhase
from shared.exceptions import Unavailable
from shared.sql import rows, run
from tasks import standing_pauses

log = logging.getLogger("workflows.pausing")

#: The mark, which stands where others wait.
PAUSING = "pausing"
_AT_ONCE = 1000
#: Runs of one pass: the scheduler's other repairs wait for it.
_RUNS_AT_ONCE = 200


def settle_pause(tenant_id: UUID, run_id: UUID) -> bool:
    """Hold or free the steps of a run that was paused or resumed; return whether Redis was there.

    Where Redis cannot be asked, they stay: the repair pass tries again.
    """
    try:
        while not _settle(tenant_id, run_id):
            pass
    except Unavailable as error:
        log.warning("steps.not_held", extra={"run_id": str(run_id), "reason": error.message})
        return False
    return True


def settle_pauses_in(partitions: Sequence[int]) -> None:
    """Hold or free the steps of runs of these partitions that still have the mark, some at a time.

    A restore marks all open runs, and the next pass continues.
    """
    wanted = {"partitions": list(partitions), "limit": _RUNS_AT_ONCE}
    for run_id, tenant_id in rows("workflow_ends/pausing_in", wanted):
        if not settle_pause(tenant_id, run_id):
            # Each of the others would wait as long for Redis.
            break


@transaction.atomic
def _settle(tenant_id: UUID, run_id: UUID) -> bool:
    """Hold or free a batch of steps; return whether none is left."""
    standing_pauses.share(tenant_id)
    # The race: a pause and a resume that are settled at once. Each reads the phase under this lock.
    rows("workflow_ends/own_pause", {"run": run_id})
    found = rows("workflow_ends/pausing", {"run": run_id})
    if not found:
        return True
    phase, since = found[0]
    count = 0
    if phase == RunPhase.PAUSED:
        count = hold_steps_of(run_id, _AT_ONCE)
    elif phase != RunPhase.CANCELLING:
        count = free_steps_of(tenant_id, run_id, _AT_ONCE)
    if count:
        # A transaction that holds steps must not wait for what belongs to their run.
        return False
    run("workflow_ends/forget_pausing", {"run": run_id, "since": since})
    return True
