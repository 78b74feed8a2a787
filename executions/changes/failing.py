"""Pause tasks that have failed as often in a row as their retry policy allows.

A stage of the scheduler that runs every second. The recorder counts the failures; resuming the
task starts the count anew.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction

from executions.changes import changing, withdrawal
from executions.choices import Status
from executions.loop.counts import Counts
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared.actor import SYSTEM
from shared.exceptions import NotFound, Unavailable
from shared.sql import rows
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.transitions import Pause

log = logging.getLogger("executions.services.failing")

_BATCH = 50
_LOOK_SECONDS = 1.0


def run_once(partitions: Partitions) -> Counts:
    """Pause one batch of the failing tasks in the owned partitions.

    While Redis is away, a task whose released work cannot be taken back waits for the next pass.
    """
    held = list(partitions.held)
    if not held:
        return Counts()
    found = rows("pausing/tasks_failing", {"partitions": held, "limit": _BATCH})
    done = 0
    try:
        for task_id, tenant_id in found:
            done += _pause(tenant_id, task_id)
    except Unavailable as error:
        log.warning("task.not_paused", extra={"reason": error.message})
        return Counts(done=done, next_in=_LOOK_SECONDS)
    return Counts(done=done, next_in=0.0 if len(found) == _BATCH else _LOOK_SECONDS)


@transaction.atomic
def _pause(tenant_id: UUID, task_id: UUID) -> bool:
    """Pause one task unless it succeeded, or was paused or edited, meanwhile."""
    # Executions before the task: the order in which the recorder locks them.
    withdrawal.lock(task_id)
    try:
        task: Task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    except NotFound:
        return False
    most = task.pause_after_failures
    if task.status != TaskStatus.SCHEDULED or most is None or task.failure_streak < most:
        return False
    changing.pause_task(tenant_id, task_id, Pause(note=_note(task)), actor=SYSTEM)
    log.info("task.paused", extra={"task_id": str(task_id), "tenant_id": str(tenant_id)})
    return True


def _note(task: Task) -> str:
    times = f"{task.failure_streak} failure{'' if task.failure_streak == 1 else 's'}"
    row = "" if task.failure_streak == 1 else " in a row"
    failed = Execution.objects.filter(status=Status.FAILED)
    last = failed.filter(pk=task.last_execution_id).first() if task.last_execution_id else None
    if last is None:
        return f"Paused after {times}{row}."
    status = "" if last.response_status is None else f" {last.response_status}"
    return f"Paused after {times}{row}; last: {last.error_code or last.reason}{status}"
