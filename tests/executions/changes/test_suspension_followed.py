"""The scheduler beside a suspension: what it mends, what waits for Redis, what the gate lets go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db.models.functions import Now

from executions.bulk import steps
from executions.changes import ending_pauses as resuming
from executions.changes import suspension
from executions.gate import stage as gate
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tests.executions.bulk.backfills import HOUR, made_by, make_backfill, minutely
from tests.factories import every_second, make_task, once, prepare, release, reload
from tests.support.closed_redis import closed_redis
from tests.support.cursors import change_task
from tests.support.suspending import resume, suspend

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("scheduler", ["goes on", "is restarted"])
def test_a_scheduler_stops_what_another_version_suspended_and_lets_go_what_it_resumed(
    alpha: Tenant, beta: Tenant, scheduler: str
):
    mine, theirs = make_task(alpha, every_second()), make_task(beta)
    prepare()
    partitions = Partitions()
    partitions.run_once()

    def look() -> None:
        if scheduler == "is restarted":
            partitions.release_all()
            partitions.run_once()
        resuming.run_once(partitions)

    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=Now())
    look()
    assert (reload(mine).status, reload(theirs).status) == ("PAUSED", "SCHEDULED")
    assert release() == []
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=None)
    look()

    assert reload(mine).status == "SCHEDULED"
    assert suspension.mend() == 0
    partitions.release_all()


@pytest.mark.logs("suspension.postponed")
def test_a_suspension_waits_for_redis_in_the_scheduler_and_stops_no_other_stage(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, once())
    prepare()
    release()
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=Now())
    with monkeypatch.context() as away:
        away.setattr("wire.start_guard.client", closed_redis)
        assert suspension.mend() == 0
    assert reload(task).status == "SCHEDULED"

    assert suspension.mend() == 1
    assert reload(task).status == "PAUSED"


def test_a_backfill_of_a_task_that_has_ended_waits_for_the_tenant_and_keeps_its_limit(
    alpha: Tenant,
):
    task = make_task(alpha, minutely())
    job = make_backfill(task, replace(HOUR, max_parallel=1))
    steps.run_some(job.id)
    change_task(task.pk, status="COMPLETED", next_run_at=None)
    suspend(alpha)
    partitions = Partitions()
    partitions.run_once()

    gate.run_once(partitions)

    assert release() == []
    resume(alpha)
    gate.run_once(partitions)
    assert len(release()) == 1
    assert len(made_by(job)) == 61
    partitions.release_all()
