"""The verbs of ``changing`` as tests call them: on a task, by the test's actor."""

from __future__ import annotations

from executions.changes import changing
from tasks.limits import current_limits
from tasks.models import Task
from tasks.transitions import Pause
from tasks.validation.bodies import parse_patch
from tests.factories import ACTOR

ODD_SECONDS = {"schedule": {"cron_expression": "1-59/2 * * * * *"}}


def patch(task: Task, body, **options):
    def edit(current, now):
        return parse_patch(current, body, now=now, limits=current_limits())

    return changing.edit_task(task.tenant_id, task.id, edit, actor=ACTOR, **options)


def pause(task: Task, **options) -> Task:
    return changing.pause_task(task.tenant_id, task.id, Pause(**options), actor=ACTOR)


def resume(task: Task) -> Task:
    return changing.resume_task(task.tenant_id, task.id, actor=ACTOR)


def cancel(task: Task) -> Task:
    return changing.cancel_task(task.tenant_id, task.id, actor=ACTOR)


def delete(task: Task, **options) -> None:
    changing.delete_task(task.tenant_id, task.id, actor=ACTOR, **options)
