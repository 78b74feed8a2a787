"""What the processes do for runs: begin them, fire their timers, advance and repair them.

The recorder, and every process that ends a step, advances the runs right after its commit; the
scheduler of a run's partition does all else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from django.db import Error, transaction

from executions import run_signals
from executions.dispatch.handing_on import HandingOn
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.loop import Stage
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from tasks import standing_pauses
from tenants.suspension import is_suspended
from workflows import deadlocks, in_flight
from workflows.advance.stage import advance
from workflows.begin import begin_due
from workflows.pausing import settle_pauses_in
from workflows.retry_requests import begin_wanted_in
from workflows.signals import forget_old
from workflows.taking_back import take_back

log = logging.getLogger("workflows.stages")

#: Runs that begin, and timers that fire, in one transaction.
_AT_ONCE = 200
_REPAIR_SECONDS = 1.0
#: After a pass that has left runs with something in their inbox: a signal may release thousands.
_REPAIR_AGAIN_SECONDS = 0.1
_FORGET_SECONDS = 600.0
#: Its scheduler looks for runs that wait for each other, in all partitions.
_FIRST_PARTITION = 0
#: Next look without anything ahead.
_LOOK_SECONDS = 30.0


def advance_told(runs: Iterable[UUID], handing_on: HandingOn | None = None, **_: object) -> None:
    """Advance runs that have something in their inbox; another pass does it where this fails."""
    try:
        take_back(advance(runs, handing_on))
    except Error as error:
        log.warning("advance.failed", extra={"reason": str(error)})


def hand_steps_on(handing_on: HandingOn) -> None:
    """Let this process hand the next step to the workers itself, from now on: for a recorder."""
    run_signals.runs_told.disconnect(advance_told)
    run_signals.runs_told.connect(partial(advance_told, handing_on=handing_on), weak=False)


def stages_of(partitions: Partitions, **_: object) -> list[Stage]:
    """Return the stages of a scheduler's loop."""
    return [
        Stage("workflows", partial(begin_and_fire, partitions)),
        Stage("workflow_repair", partial(repair, partitions)),
        Stage("workflow_signals", partial(forget, partitions)),
    ]


def begin_and_fire(partitions: Partitions) -> float:
    """Begin due runs and fire due timers; return the seconds until the next ones are due."""
    ready = partitions.ready
    if not ready:
        return _REPAIR_SECONDS
    scope = {"partitions": ready}
    [(begins_at, over_at, now)] = rows("workflow_ends/next", scope)
    soonest = min((moment for moment in (begins_at, over_at) if moment), default=None)
    if soonest is None or soonest > now:
        ahead = _LOOK_SECONDS if soonest is None else (soonest - now).total_seconds()
        return min(ahead, conf().scheduler_sleep_seconds)
    found = begin_due(ready, _AT_ONCE) if begins_at and begins_at <= now else []
    if over_at and over_at <= now:
        found += fire(ready)
    advance_told(found)
    # Without any, what is due waits for another session, or for a key.
    return 0.0 if found else conf().scheduler_sleep_seconds


def fire(partitions: Sequence[int]) -> list[UUID]:
    """Tell runs of timers that are over; return the runs."""
    told = rows("workflow_ends/tell_due", {"partitions": list(partitions), "limit": _AT_ONCE})
    return [row[0] for row in told]


def repair(partitions: Partitions) -> float:
    """Advance runs that wait to be advanced, or whose steps are to be taken back.

    Hold and free the steps of runs that were paused or resumed, and begin the takes that have
    waited for the end of their runs. End runs that wait for each other.
    """
    ready = partitions.ready
    if ready:
        wanted = {"partitions": ready, "limit": _AT_ONCE}
        found = rows("workflow_ends/left_behind", wanted)
        advance_told([run_id for run_id, _ in found])
        settle_pauses_in(ready)
        begin_wanted_in(ready)
        free_waiting()
        if _FIRST_PARTITION in ready:
            deadlocks.end_some()
        if sum(told for _, told in found) >= _AT_ONCE:
            return _REPAIR_AGAIN_SECONDS
    return _REPAIR_SECONDS


def free_waiting() -> int:
    """Let runs and steps that wait for a limit of their tenant begin; return how many do.

    What ends frees places, and so does a limit that was raised.
    """
    freed = 0
    for tenant_id in in_flight.waiting_tenants():
        with transaction.atomic():
            standing_pauses.share(tenant_id)
            # Again: a suspension may have begun since they were found.
            if is_suspended(tenant_id):
                continue
            freed += in_flight.free_runs(tenant_id) + in_flight.free_steps(tenant_id)
    if freed:
        wake_schedulers_in(0.0)
    return freed


def forget(partitions: Partitions) -> float:
    """Delete signals of more than a day ago, and what was told to runs that had ended.

    Mend what processes of the version before make of runs with a key.
    """
    if not partitions.ready:
        return _REPAIR_SECONDS
    forget_old()
    run("workflow_ends/forget_told")
    if in_flight.mend_places():
        wake_schedulers_in(0.0)
        # Such a process may still be there.
        return _REPAIR_SECONDS
    return _FORGET_SECONDS
