"""Tasks in every state that they and their work can be in, for verbs that act on many at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import run_task
from tasks.models import Pause, Task
from tenants.models import Tenant
from tests.executions.changes.changes import cancel, delete, patch, pause
from tests.executions.changes.standing import end, stand
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_task,
    make_tenant,
    once,
    pass_guard,
    prepare,
    release,
    start,
)
from wire.messages import Claimed

#: What becomes of a one-time task's execution, by the name of the task.
_ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "retrying": ("RETRYING", {"retry_in": 60.0}),
    "completed": ("SUCCEEDED", {}),
    "failed": ("FAILED", {"reason": "attempts_exhausted"}),
    "paused then completed": ("SUCCEEDED", {}),
    "paused then failed": ("FAILED", {"reason": "attempts_exhausted"}),
    "paused then retrying": ("RETRYING", {"retry_in": 60.0}),
}
_PAUSED_WHILE_RUNNING = [name for name in _ENDS if name.startswith("paused")]


def make_zoo(tenant: Tenant) -> list[UUID]:
    """Make tasks in every state, and one of another tenant; return their ids and an unknown one."""
    tasks = _make_active(tenant)
    work = _bring(tasks)
    for name in _PAUSED_WHILE_RUNNING:
        pause(tasks[name], note="Wait.")
    for name, (status, parts) in _ENDS.items():
        finish(work[name], status, **parts)
    for name in ("cancelled", "cancelled with a run"):
        cancel(tasks[name])
    delete(tasks["deleted"])
    for name in ("paused", "paused and covered", "paused with a run", "paused and failing"):
        pause(tasks[name], note="Wait.", on_resume="run_once")
    pause(tasks["paused until"], until=database_now() + timedelta(hours=1))
    _stand(tenant, tasks)
    for name in ("with a run", "paused with a run", "cancelled with a run", "released run"):
        run_task(tenant.id, tasks[name].id, None, actor=ACTOR)
    released = [row for row in release() if row.task_id == tasks["released run"].id]
    assert released
    Task.objects.filter(pk=tasks["paused and failing"].id).update(failure_streak=3)
    stranger = make_task(make_tenant("Stranger"))
    ids = [task.id for task in tasks.values()]
    return sorted([*ids, stranger.id, uuid4()])


def _make_active(tenant: Tenant) -> dict[str, Task]:
    soon = database_now() + timedelta(seconds=9)
    bodies: dict[str, dict[str, Any]] = {
        "at rest": daily(),
        "with a run": daily(),
        "released run": daily(),
        "cancelled": every_second(),
        "cancelled with a run": daily(),
        "deleted": every_second(),
        "paused": every_second(),
        "paused with a run": daily(),
        "paused until": daily(),
        "paused and failing": daily(),
        "paused and covered": daily(labels={"team": "covering"}),
        "under a pause": every_second(labels={"team": "covering"}),
        "under an ended pause": daily(labels={"team": "ended"}),
        "left its pause": daily(labels={"team": "covering"}),
        "firing": every_second(),
        "bounded": every_second(schedule={"cron_expression": "* * * * * *", "max_occurrences": 20}),
        "edited": every_second(),
        "gated": every_second(
            schedule={"cron_expression": "* * * * * *", "overlap_policy": "skip"}
        ),
        "waiting": once(soon),
        "later": once(database_now() + timedelta(hours=1)),
        "released": once(),
        "started": once(),
        "running": once(),
        **{name: once() for name in _ENDS},
    }
    return {name: make_task(tenant, {**body, "name": name}) for name, body in bodies.items()}


def _bring(tasks: dict[str, Task]) -> dict[str, Claimed]:
    """Prepare and release what is due, start some of it; return the work by the tasks' names."""
    prepare()
    patch(tasks["edited"], {"schedule": {"cron_expression": "*/2 * * * * *"}})
    names = {task.id: name for name, task in tasks.items()}
    work: dict[str, Claimed] = {}
    for row in release():
        work.setdefault(names[row.task_id], row)
    start([work[name] for name in ("running", *_ENDS)])
    assert pass_guard([work["started"], work["firing"]]) == [1, 1]
    assert Execution.objects.filter(task=tasks["started"], status="QUEUED").exists()
    return work


def _stand(tenant: Tenant, tasks: dict[str, Task]) -> None:
    covering = stand(tenant, value="team:covering", note="Standing.", on_resume="replay")
    left = Task.objects.filter(pk=tasks["left its pause"].id)
    # As if the label had left it in the moment of the pause's begin.
    left.update(labels={})
    ended = stand(tenant, value="team:ended")
    held = Task.objects.get(pause_id=ended.id)
    end(ended)
    # As if it had gone under the pause in the moment of that pause's end.
    Task.objects.filter(pk=held.id).update(
        status="PAUSED", paused_at=database_now(), pause_id=ended.id
    )
    assert Pause.objects.open().get() == covering
