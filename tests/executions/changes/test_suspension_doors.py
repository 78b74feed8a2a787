"""Every service that makes work refuses a suspended tenant; a suspension changes all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from events.models import AuditEntry
from executions.bulk import backfill, steps
from executions.bulk.jobs import create_bulk_job
from executions.dead_letters import letters
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from executions.triggering import triggers
from executions.triggering.test_delivery import send_test_of_task
from shared.exceptions import Unavailable
from tasks.models import Task
from tenants.models import Tenant
from tenants.suspension import TenantSuspended
from tests.executions.bulk.bulk import make_job
from tests.executions.changes.changes import cancel, patch, pause
from tests.executions.changes.changes import resume as resume_task
from tests.factories import (
    ACTOR,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
    release,
    reload,
)
from tests.support.letters import make_letters
from tests.support.suspending import resume, suspend


def waits(tenant: Tenant) -> set[tuple[str, bool]]:
    """Return the states of the tenant's unfinished work, each with whether it is on hold."""
    found = Execution.objects.for_tenant(tenant.id).filter(finished_at=None)
    return set(found.values_list("status", "held"))


# --- doors that make work ------------------------------------------------------------------


def doors(tenant: Tenant) -> dict[str, Callable[[], Any]]:
    """Return every service that makes work or lets it start, called for the tenant."""
    task, ended = make_task(tenant), make_execution(tenant, "SUCCEEDED")
    letter = make_dead_letter(tenant)
    paused = make_task(tenant)
    pause(paused)
    past = database_now() - timedelta(days=2)
    wanted = backfill.Wanted(start=past, end=past + timedelta(days=1))
    by: dict[str, Any] = {"actor": ACTOR}
    return {
        "create": lambda: make_task(tenant),
        "edit": lambda: patch(task, {"name": "Other"}),
        "resume": lambda: resume_task(task),
        "resume of a pause of its own": lambda: resume_task(paused),
        "run": lambda: triggers.run_task(tenant.id, task.id, None, **by),
        "retry": lambda: triggers.retry_execution(tenant.id, ended.id, None, **by),
        "retry of a letter": lambda: letters.retry_dead_letter(tenant.id, letter.id, None, **by),
        "test": lambda: send_test_of_task(tenant.id, task.id, **by),
        "backfill": lambda: backfill.create_backfill(tenant.id, task.id, wanted, **by),
        "bulk job": lambda: create_bulk_job(
            tenant.id,
            kind="dead_letters",
            action="retry",
            filters={},
            options={},
            name="",
            **by,
        ),
    }


def test_every_service_that_makes_work_refuses_a_suspended_tenant_and_changes_nothing(
    alpha: Tenant,
):
    asked = doors(alpha)
    suspend(alpha)
    before = (Task.objects.count(), Execution.objects.count(), BulkJob.objects.count())
    entries = AuditEntry.objects.count()

    for ask in asked.values():
        with pytest.raises(TenantSuspended), transaction.atomic():
            ask()

    after = (Task.objects.count(), Execution.objects.count(), BulkJob.objects.count())
    assert (after, AuditEntry.objects.count()) == (before, entries)


def test_a_task_of_a_suspended_tenant_may_still_be_cancelled(alpha: Tenant):
    task = make_task(alpha)
    suspend(alpha)

    assert cancel(task).status == "CANCELLED"
    resume(alpha)
    assert reload(task).status == "CANCELLED"


def test_a_bulk_job_stands_still_while_its_tenant_is_suspended(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    sent: list[str] = []
    monkeypatch.setattr(steps, "publish_system_job", lambda _, job_id: sent.append(job_id))
    make_letters(alpha, 3)
    job = make_job(alpha)
    long_ago = database_now() - timedelta(minutes=1)
    BulkJob.objects.filter(pk=job.pk).update(woken_at=long_ago)
    suspend(alpha)

    assert not steps.run_some(job.id)
    steps.wake_waiting()

    assert sent == []
    job.refresh_from_db()
    assert (job.status, job.position) == ("PENDING", 0)
    resume(alpha)
    steps.wake_waiting()
    assert sent == [str(job.id)]
    steps.run_some(job.id)
    assert Execution.objects.filter(trigger="retry").count() == 3


def test_redis_away_changes_nothing_where_work_is_released(
    alpha: Tenant, no_redis: Callable[[], None]
):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        suspend(alpha)

    alpha.refresh_from_db()
    assert alpha.suspended_at is None
    assert reload(task).status == "SCHEDULED"
