"""What becomes of open runs of workflows when a restore is confirmed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.models import Execution, WorkflowRun
from executions.ownership import fence, restored
from executions.ownership.restored import CANCEL, CONTINUE, PAUSE
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
    work,
)
from workflows.control import resume_run
from workflows.pausing import settle_pause, settle_pauses_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def fenced(tenant: Tenant) -> UUID:
    """Return a run that was open when an installation was restored from an hour ago."""
    step: dict[str, Any] = {"key": "wait", "kind": "delay", "delay_seconds": 60}
    run = begin_run(make_workflow(tenant, [calls("a"), step, calls("b", "a")]))
    with connection.cursor() as cursor:
        fence.hold(cursor)
        cursor.execute("UPDATE partition_leases SET expires_at = expires_at - interval '1 hour'")
    return run


def test_open_runs_are_counted_apart(tenant: Tenant):
    fenced(tenant)

    seen = restored.preview()

    assert (seen.runs, seen.running) == (1, 0)


def test_runs_stay_paused_until_a_person_resumes_them(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR)
    assert work(run) == []

    row = WorkflowRun.objects.get(pk=run)
    assert (row.phase, row.reason) == ("paused", "restored")
    assert states(run) == {"a": "OPEN", "wait": "OPEN", "b": "PENDING"}
    resume_run(tenant.id, run, actor=ACTOR)
    settle_pause(tenant.id, run)
    assert WorkflowRun.objects.get(pk=run).reason == ""
    assert work(run) == ["a", "b"]


def test_a_step_that_was_released_is_taken_back_too(tenant: Tenant):
    run = fenced(tenant)
    claim(run)

    restored.confirm(restored.preview(), actor=ACTOR)
    settle_pauses_in(EVERYWHERE)

    assert Execution.objects.filter(run_id=run, held=True, status="PENDING").count() == 1


def test_runs_go_on_where_that_is_asked(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR, runs=CONTINUE)
    work(run)

    assert states(run)["b"] == "SUCCEEDED"


def test_runs_are_cancelled_where_that_is_asked(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR, runs=CANCEL)
    go_on(run)

    assert status_of(run) == "CANCELLED"


@pytest.mark.parametrize("runs", [PAUSE, CONTINUE])
def test_deadlines_and_delays_move_by_the_time_that_was_lost(tenant: Tenant, runs: str):
    run = fenced(tenant)
    before = WorkflowRun.objects.get(pk=run).deadline_at

    restored.confirm(restored.preview(), actor=ACTOR, runs=runs)

    moved = WorkflowRun.objects.get(pk=run).deadline_at - before
    assert timedelta(hours=1) <= moved < timedelta(hours=2)
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(due_at - began_at) FROM workflow_waits WHERE kind = 'delay'")
        assert cursor.fetchone()[0] >= timedelta(hours=1)
