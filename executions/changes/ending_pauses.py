"""End expired pauses, of one task and of many, and mend suspensions; a stage of the scheduler.

Each pass is bounded, because the scheduler's other stages wait for it.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from executions.changes import bulk_pause, changing, suspension, withdrawal
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.ownership.partitions import Partitions
from shared.actor import SYSTEM
from shared.exceptions import NotFound
from shared.sql import rows
from tasks import standing_pauses
from tasks.choices import TaskStatus
from tasks.models import Task

_BATCH = 200


def run_once(partitions: Partitions) -> Counts:
    """Resume one batch of tasks whose ``paused_until`` has come, or whose standing pause ends."""
    held = list(partitions.held)
    if not held:
        return Counts()
    mended = suspension.mend()
    let_go, more = bulk_pause.end_due(partitions)
    found = rows("materialize/tasks_to_resume", {"partitions": held, "limit": _BATCH})
    done = mended + let_go
    for task_id, tenant_id in found:
        done += _resume(tenant_id, task_id)
    return Counts(done=done, next_in=0.0 if more or len(found) == _BATCH else 1.0)


@transaction.atomic
def _resume(tenant_id: UUID, task_id: UUID) -> bool:
    """Resume one task unless it was resumed, prolonged or deleted meanwhile."""
    standing_pauses.share(tenant_id)
    # Executions before the task: the order in which the recorder locks them.
    withdrawal.lock(task_id)
    try:
        task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    except NotFound:
        return False
    now = database_now()
    if task.status != TaskStatus.PAUSED or task.paused_until is None or task.paused_until > now:
        return False
    changing.resume_locked(task, actor=SYSTEM, now=now)
    return True
