"""Steps of a paused run are held, and freed for what else holds them."""

from __future__ import annotations

from uuid import UUID

import pytest

from executions.changes.paused_runs import free_steps_of, hold_steps_of
from executions.changes.pauses import Wanted, create_pause, end_pause
from executions.models import Execution
from shared.exceptions import Unavailable
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, release
from tests.support.closed_redis import closed_redis
from tests.support.workflow_steps import claim, start_step
from tests.support.workflows import begin_run, calls, make_workflow

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def run(tenant: Tenant) -> UUID:
    return begin_run(make_workflow(tenant, [calls("a")]))


def seen(run: UUID) -> tuple[str, bool, str]:
    [row] = Execution.objects.filter(run_id=run)
    return row.status, row.held, row.reason


def test_a_prepared_step_waits_until_it_is_freed(tenant: Tenant, run: UUID):
    assert hold_steps_of(run, 10) == 1
    assert seen(run) == ("PENDING", True, "run_paused")
    assert release() == []

    assert free_steps_of(tenant.id, run, 10) == 1
    assert seen(run) == ("PENDING", False, "")
    assert [row.id for row in release()] == [Execution.objects.get(run_id=run).id]


def test_a_step_in_a_queue_is_taken_back_and_its_token_starts_nothing(tenant: Tenant, run: UUID):
    row = claim(run)["a"]

    hold_steps_of(run, 10)

    assert seen(run) == ("PENDING", True, "run_paused")
    free_steps_of(tenant.id, run, 10)
    assert claim(run)["a"].token != row.token


def test_a_running_step_continues_and_its_mark_holds_a_retry(tenant: Tenant, run: UUID):
    start_step(claim(run)["a"])

    hold_steps_of(run, 10)

    assert seen(run) == ("RUNNING", True, "run_paused")
    assert hold_steps_of(run, 10) == 0


def test_steps_are_held_in_batches(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("load", for_each=[1, 2, 3])]))

    assert [hold_steps_of(run, 2), hold_steps_of(run, 2), hold_steps_of(run, 2)] == [2, 1, 0]
    assert free_steps_of(tenant.id, run, 2) == 2


def test_other_runs_are_left_alone(tenant: Tenant, run: UUID):
    other = begin_run(make_workflow(tenant, [calls("a")]))

    hold_steps_of(run, 10)

    assert seen(other) == ("PENDING", False, "")


def test_a_pause_of_the_place_holds_a_step_that_its_run_frees(tenant: Tenant, run: UUID):
    hold_steps_of(run, 10)
    pause, _ = create_pause(tenant.id, Wanted("destination", "api.example.com"), actor=ACTOR)
    assert seen(run) == ("PENDING", True, "run_paused")

    free_steps_of(tenant.id, run, 10)

    assert seen(run) == ("PENDING", True, "place_paused")
    end_pause(tenant.id, pause.id, actor=ACTOR)
    assert seen(run) == ("PENDING", False, "")


def test_the_end_of_another_pause_frees_no_step_of_a_paused_run(tenant: Tenant, run: UUID):
    pause, _ = create_pause(tenant.id, Wanted("destination", "api.example.com"), actor=ACTOR)
    assert seen(run) == ("PENDING", True, "place_paused")
    hold_steps_of(run, 10)

    end_pause(tenant.id, pause.id, actor=ACTOR)

    assert seen(run) == ("PENDING", True, "run_paused")


def test_a_suspension_holds_a_step_that_its_run_frees(tenant: Tenant, run: UUID):
    hold_steps_of(run, 10)
    Tenant.objects.filter(pk=tenant.id).update(suspended_at="2026-01-01T00:00:00Z")

    free_steps_of(tenant.id, run, 10)

    assert seen(run) == ("PENDING", True, "tenant_suspended")


def test_without_redis_released_steps_stay_as_they_are(run: UUID, monkeypatch: pytest.MonkeyPatch):
    claim(run)
    closed = closed_redis()
    monkeypatch.setattr("wire.start_guard.client", lambda: closed)

    with pytest.raises(Unavailable):
        hold_steps_of(run, 10)

    assert seen(run) == ("QUEUED", False, "")
