"""Ends pauses whose time is over; run by the scheduler for its partitions."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from executions.engine import withdrawal
from executions.engine.clocks import database_now
from executions.engine.counts import Counts
from executions.engine.partitions import Partitions
from shared.actor import SYSTEM
from shared.exceptions import NotFound
from shared.notify import wake_schedulers_on_commit
from shared.sql import rows
from tasks import services as task_services
from tasks.choices import TaskStatus
from tasks.models import Task

_BATCH = 200


def run_once(partitions: Partitions) -> Counts:
    """Resume one batch of tasks whose ``paused_until`` has come."""
    held = list(partitions.held)
    if not held:
        return Counts()
    found = rows("materialize/tasks_to_resume", {"partitions": held, "limit": _BATCH})
    done = 0
    for task_id, tenant_id in found:
        done += _resume(tenant_id, task_id)
    return Counts(done=done, next_in=0.0 if len(found) == _BATCH else 1.0)


@transaction.atomic
def _resume(tenant_id: UUID, task_id: UUID) -> bool:
    """Resume one task unless it was resumed, prolonged or deleted meanwhile."""
    # Executions before the task: the order in which the recorder locks them.
    withdrawal.lock(task_id)
    try:
        task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    except NotFound:
        return False
    now = database_now()
    if task.status != TaskStatus.PAUSED or task.paused_until is None or task.paused_until > now:
        return False
    task_services.resume_task(task, actor=SYSTEM, now=now)
    withdrawal.hold(task_id, held=False)
    wake_schedulers_on_commit(now, now)
    return True
