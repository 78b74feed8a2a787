"""What the pages' world leaves out: deleted and skipped work, spans, runs, keys, jobs, limits."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from executions.changes import changing
from executions.choices import OPEN
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.instants import format_instant
from tasks.models import Task, TaskCursor
from tenants.models import Tenant
from tenants.services import change_quotas
from tests.executions.bulk.bulk import make_job, run_job
from tests.executions.gate import key_world
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_task,
    once,
    prepare,
    release,
)
from tests.support import share_minutes
from tests.support.calendars import make_calendar, under
from tests.support.cursors import change_task
from tests.support.named_secrets import make_secret, using
from tests.support.workflows import begin_run, calls, make_workflow, work

#: Limits that no tenant of the world comes near to.
_LIMITS = {
    "stored_tasks": 1000,
    "stored_payload_bytes": 10**7,
    "runs_in_flight": 500,
    "steps_in_flight": 400,
}


def make_rest(*tenants: Tenant) -> None:
    """Give each tenant the rest, before its other work; the second twice as much."""
    several = [tenant for times, tenant in enumerate(tenants, start=1) for _ in range(times)]
    for tenant in several:
        _deleted(tenant)
        _skipped(tenant)
        _span(tenant)
        _runs(tenant)
        key_world.make(tenant, 3)
        _bulk_jobs(tenant)
    key_world.look()
    for times, tenant in enumerate(tenants, start=1):
        _named(tenant, times)
        for ago in range(2, 3 + times):
            share_minutes.minute(tenant, ago, 10.4 * times, 3 + ago, 0.5 * ago)


def finish_rest(*tenants: Tenant) -> None:
    """Limit each tenant, and move due times away from now, so that no count changes meanwhile."""
    for tenant in tenants:
        change_quotas(tenant.id, actor=ACTOR, limits=_LIMITS)
    now, near = database_now(), timedelta(seconds=20)
    open_rows = Execution.objects.filter(status__in=OPEN)
    open_rows.filter(due_at__gt=now - near, due_at__lt=now + near).update(
        due_at=now - timedelta(seconds=45)
    )


def _deleted(tenant: Tenant) -> None:
    """Delete tasks that have run; one of them has a dead letter."""
    for status in ("SUCCEEDED", "FAILED"):
        changing.delete_task(tenant.pk, _run_to(tenant, status).pk, actor=ACTOR)


def _run_to(tenant: Tenant, status: str) -> Task:
    """Return a one-time task whose only attempt has ended so."""
    task = make_task(tenant, once())
    prepare()
    row = next(row for row in release() if row.task_id == task.pk)
    finish(row, status, reason="attempts_exhausted" if status == "FAILED" else "")
    return task


def _skipped(tenant: Tenant) -> None:
    """Leave out an instant that is past its grace."""
    at = database_now() - timedelta(hours=5)
    task = make_task(tenant, once(at))
    late = {"run_at": format_instant(at), "misfire_grace_seconds": 60}
    Task.objects.filter(pk=task.pk).update(schedule=late)
    TaskCursor.objects.filter(task_id=task.pk).update(execution_id=None)
    prepare()
    assert Execution.objects.get(task_id=task.pk).status == "SKIPPED"


def _span(tenant: Tenant) -> None:
    """Write one row for the instants of a long pause, and cancel what follows."""
    task = make_task(tenant, every_second(schedule={"every": "PT1M"}))
    since = database_now() - timedelta(minutes=600, seconds=30)
    since = since.replace(microsecond=since.microsecond // 1000 * 1000)
    change_task(task.pk, created_at=since, next_run_at=since)
    Task.objects.filter(pk=task.pk).update(resumed_at=database_now(), on_resume="skip")
    prepare()
    assert Execution.objects.filter(task_id=task.pk, span_count__gt=100).exists()
    changing.cancel_task(tenant.pk, task.pk, actor=ACTOR)


def _runs(tenant: Tenant) -> None:
    """Let a run succeed and one fail, and leave one open."""
    flow = make_workflow(tenant, [calls("one"), calls("two", "one")])
    for status in ("SUCCEEDED", "FAILED"):
        work(begin_run(flow), partial(_always, status))
    begin_run(flow)


def _always(status: str, key: str, item: int) -> str:
    return status


def _bulk_jobs(tenant: Tenant) -> None:
    """Retry dead letters, and pause tasks of which one is gone by then."""
    for _ in range(2):
        _run_to(tenant, "FAILED")
    run_job(make_job(tenant))
    tasks = [make_task(tenant, daily(labels={"bulk": "yes"})) for _ in range(3)]
    job = make_job(tenant, "pause", "tasks", {"label": "bulk"})
    changing.delete_task(tenant.pk, tasks[0].pk, actor=ACTOR)
    run_job(job)


def _named(tenant: Tenant, times: int) -> None:
    """Let tasks name a calendar and a secret; one of each kind is deleted."""
    make_calendar(tenant)
    make_secret(tenant)
    for body in (under("Holidays"), daily(target=using())):
        made = [make_task(tenant, body) for _ in range(times + 1)]
        changing.delete_task(tenant.pk, made[0].pk, actor=ACTOR)
