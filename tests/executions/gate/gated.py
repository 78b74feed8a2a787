"""Tasks whose work waits for the gate, and a scheduler that looks, as tests of it need them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import F

from executions.gate import stage as gate
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared.ids import execution_id
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import every_second, executions_of, make_task, prepare, release, reload, start
from tests.support.cursors import change_task

Look = Callable[[], Counts]
HOUR, AGO = timedelta(hours=1), timedelta(seconds=20)


def make_look() -> Look:
    """Return a scheduler that owns everything and looks once; it remembers from look to look."""
    seen = gate.Seen()

    def look() -> Counts:
        partitions = Partitions()
        partitions.run_once()
        counts = gate.run_once(partitions, seen)
        partitions.release_all()
        return counts

    return look


def limited(tenant: Tenant, due: int = 1, **schedule: Any) -> Task:
    """Return a task with so many instants that have just come due, and none prepared ahead."""
    task = make_task(tenant, every_second(schedule={"every": "PT1S", **schedule}))
    prepare()
    come_due(task, due)
    return reload(task)


def come_due(task: Task, count: int) -> None:
    """Let the first prepared instants have passed, as if all had been earlier; others leave."""
    for number, row in enumerate(executions_of(task, "PENDING")):
        at = row.scheduled_for - AGO
        found = Execution.objects.filter(id=row.id)
        if number >= count:
            found.delete()
        else:
            found.update(id=execution_id(task.id, at), scheduled_for=at, due_at=at)
    Task.objects.filter(id=task.id).update(created_at=F("created_at") - AGO)


def running(tenant: Tenant, look: Look, due: int, **schedule: Any) -> tuple[Task, Any]:
    """Return a task of which the first execution runs and so many others have come due since."""
    task = limited(tenant, due + 1, **schedule)
    later = executions_of(task)[1:]
    Execution.objects.filter(id__in=[row.id for row in later]).update(due_at=F("due_at") + HOUR)
    look()
    (claimed,) = release()
    start([claimed])
    Execution.objects.filter(id__in=[row.id for row in later]).update(due_at=F("due_at") - HOUR)
    return task, claimed


def states(task: Task) -> list[str]:
    """Return what became of each execution in order of time; gated ones are told apart."""
    return [
        "waits" if row.gated else "admitted" if row.status == "PENDING" else row.status
        for row in executions_of(task)
    ]


def prepare_more(task: Task) -> None:
    """Let one more instant of the task come due."""
    change_task(task.id, next_run_at=F("next_run_at") - timedelta(seconds=2))
    prepare()
    first, *others = Execution.objects.filter(task_id=task.id, gated=True).order_by("id")
    Execution.objects.filter(id=first.id).update(due_at=database_now())
    Execution.objects.filter(id__in=[row.id for row in others]).delete()
