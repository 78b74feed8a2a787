"""Overdue work as the checks meet it: stored times are moved, and no test waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from executions.loop.clocks import database_now
from executions.models import Execution
from notifications.models import Alert, AlertRule
from notifications.time_checks import stage
from notifications.time_checks.installation import Troubles
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.leasing import POOL, work
from tests.factories import daily, make_execution, make_task, once
from tests.support.beats import beat
from tests.support.cursors import change_task
from tests.support.workflows import begin_run, make_workflow

MINUTE = {"start_within_seconds": 60}
LATE, LONG, NONE, ASKED = ["did_not_run"], ["runs_too_long"], ["no_worker"], ["approval_waiting"]


def both(*steps: Callable[[Tenant], Any]) -> Callable[[Tenant], Any]:
    """Return a situation of several steps."""
    return lambda tenant: [step(tenant) for step in steps]


def ago(seconds: float) -> datetime:
    return database_now() - timedelta(seconds=seconds)


def unprepared(
    tenant: Tenant, seconds: float, body: Any = None, *, changed: float = 86_400, **parts: Any
) -> Task:
    """Make a task with an instant so long ago that no scheduler has prepared.

    The task was made, changed or resumed ``changed`` seconds ago.
    """
    task = make_task(tenant, body or daily(**parts))
    change_task(task.id, next_run_at=ago(seconds), updated_at=ago(changed))
    return task


def due(
    tenant: Tenant,
    seconds: float,
    status: str = "PENDING",
    *,
    body: Any = None,
    changed: float = 86_400,
    **columns: Any,
) -> Execution:
    """Make an execution of a one-time task that came due so long ago."""
    made = make_execution(tenant, status, body or once())
    Task.objects.filter(pk=made.task_id).update(updated_at=ago(changed))
    Execution.objects.filter(pk=made.pk).update(due_at=ago(seconds), **columns)
    return made


def running(tenant: Tenant, seconds: float, **parts: Any) -> Execution:
    """Make an execution whose attempt began so long ago."""
    made = make_execution(tenant, "RUNNING", once(**parts))
    Execution.objects.filter(pk=made.pk).update(started_at=ago(seconds))
    return made


def pulled(tenant: Tenant, seconds: float, **parts: Any) -> Task:
    """Make work for the tenant's own workers that came due so long ago."""
    [task] = work(tenant, **parts)
    Task.objects.filter(pk=task.id).update(updated_at=ago(86_400))
    Execution.objects.filter(task_id=task.id).update(due_at=ago(seconds))
    return task


def rule(tenant: Tenant, kind: str, **parts: Any) -> AlertRule:
    return AlertRule.objects.create(tenant=tenant, name=kind, kind=kind, **parts)


def beat_of(tenant: Tenant) -> None:
    """Let one of the tenant's own workers live."""
    beat("own", pool=f"pull.{POOL}", tenant=str(tenant.id))


def approval(tenant: Tenant, seconds: float) -> None:
    """Make a run whose step has waited for an approval for so long."""
    begin_run(make_workflow(tenant, [{"key": "ask", "kind": "approval"}]))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET began_at = %s", [ago(seconds)])


def judged(tenant: Tenant) -> list[str]:
    """Judge once; return the kinds of the tenant's alerts whose condition holds."""
    assert stage.check(Troubles())
    holding = Alert.objects.filter(tenant=tenant, closed_at=None, recovered_at=None)
    return sorted(holding.values_list("kind", flat=True))
