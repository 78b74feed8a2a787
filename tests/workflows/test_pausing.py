"""A pause of a run takes back what waits for a worker; a resume gives it back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.models import Execution, WorkflowRun
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.closed_redis import closed_redis
from tests.support.workflow_steps import claim, end, open_keys, run_step, start_step, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows import pausing
from workflows.control import Scope, cancel_run, pause_run, resume_run
from workflows.pausing import settle_pause, settle_pauses_in

pytestmark = pytest.mark.django_db
STEPS = [calls("a"), calls("b", "a"), calls("other")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def run_id(tenant: Tenant) -> UUID:
    return begin_run(make_workflow(tenant, STEPS))


def held(run_id: UUID) -> dict[str, bool]:
    keys = {1: "a", 2: "b", 3: "other"}
    found = Execution.objects.filter(run_id=run_id, step__isnull=False)
    return {keys[row.step or 0]: row.held for row in found}


def marks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM workflow_waits WHERE kind = 'pausing'")
        [(count,)] = cursor.fetchall()
    return int(count)


def test_nothing_starts_from_the_answer_of_a_pause_on(tenant: Tenant, run_id: UUID, on_commit: Any):
    queued = claim(run_id)

    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)

    assert set(queued) == {"a", "other"}
    assert held(run_id) == {"a": True, "other": True}
    assert (claim(run_id), marks()) == ({}, 0)
    assert states(run_id) == {"a": "OPEN", "b": "PENDING", "other": "OPEN"}


def test_a_resume_gives_back_what_was_taken(tenant: Tenant, run_id: UUID, on_commit: Any):
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)

    assert held(run_id) == {"a": False, "other": False}
    assert work_on(run_id) == ["a", "other", "b"]
    assert (status_of(run_id), marks()) == ("SUCCEEDED", 0)
    assert Execution.objects.filter(run_id=run_id, step__isnull=False).count() == 3


def test_what_runs_ends_and_a_retry_of_it_waits(tenant: Tenant, run_id: UUID, on_commit: Any):
    rows = claim(run_id)
    for row in rows.values():
        start_step(row)
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)

    end(rows["a"])
    end(rows["other"], "RETRYING", reason="worker_lost")
    go_on(run_id)

    assert states(run_id) == {"a": "SUCCEEDED", "b": "PENDING", "other": "OPEN"}
    assert Execution.objects.get(pk=rows["a"].id).reason == ""
    assert claim(run_id) == {}
    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)
    assert sorted(open_keys(run_id)) == ["b", "other"]
    assert held(run_id) == {"a": True, "b": False, "other": False}


def test_a_held_step_of_a_cancelled_run_is_taken_back(tenant: Tenant, run_id: UUID, on_commit: Any):
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    with on_commit(execute=True):
        cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    assert status_of(run_id) == "CANCELLED"
    assert Execution.objects.filter(run_id=run_id, started_at__isnull=False, step=1).count() == 0


def test_a_failure_within_a_pause_takes_effect_with_the_resume(
    tenant: Tenant, run_id: UUID, on_commit: Any
):
    row = claim(run_id)["a"]
    start_step(row)
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    end(row, "FAILED")
    go_on(run_id)
    assert held(run_id)["other"] is True

    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)
    go_on(run_id)

    assert states(run_id) == {"a": "FAILED", "b": "BLOCKED", "other": "CANCELLED"}
    assert status_of(run_id) == "FAILED"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_where_the_process_dies_the_repair_pass_does_it(tenant: Tenant, run_id: UUID, verb: str):
    pause_run(tenant.id, run_id, actor=ACTOR)
    if verb == "resume":
        settle_pause(tenant.id, run_id)
        resume_run(tenant.id, run_id, actor=ACTOR)
    before = held(run_id)["a"]

    settle_pauses_in(EVERYWHERE)

    assert (before, held(run_id)["a"]) == (verb == "resume", verb == "pause")
    assert marks() == 0


@pytest.mark.logs("steps.not_held")
def test_without_redis_the_mark_stays_until_it_is_back(
    tenant: Tenant, run_id: UUID, monkeypatch: pytest.MonkeyPatch
):
    claim(run_id)
    pause_run(tenant.id, run_id, actor=ACTOR)
    with monkeypatch.context() as patch:
        closed = closed_redis()
        patch.setattr("wire.start_guard.client", lambda: closed)
        settle_pause(tenant.id, run_id)
    assert (held(run_id)["a"], marks()) == (False, 1)

    settle_pauses_in(EVERYWHERE)

    assert (held(run_id)["a"], marks()) == (True, 0)


def test_many_steps_are_held_and_freed_in_batches(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pausing, "_AT_ONCE", 2)
    run_id = begin_run(make_workflow(tenant, [calls("load", for_each=[1, 2, 3, 4])]))
    pause_run(tenant.id, run_id, actor=ACTOR)
    settle_pause(tenant.id, run_id)
    items = Execution.objects.filter(run_id=run_id, step=1)
    assert items.filter(held=True).count() == 4

    resume_run(tenant.id, run_id, actor=ACTOR)
    settle_pause(tenant.id, run_id)

    assert (items.filter(held=True).count(), marks()) == (0, 0)


def test_a_run_without_the_mark_is_left_alone(tenant: Tenant, run_id: UUID):
    WorkflowRun.objects.filter(pk=run_id).update(phase="paused")

    settle_pause(tenant.id, run_id)

    assert held(run_id) == {"a": False, "other": False}


def test_a_step_that_ends_within_a_pause_begins_nothing(
    tenant: Tenant, run_id: UUID, on_commit: Any
):
    run_step(run_id, "other")
    row = claim(run_id)["a"]
    start_step(row)
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    end(row)
    go_on(run_id)

    assert open_keys(run_id) == []
    assert status_of(run_id) == "RUNNING"


UNDO = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
UNDONE = [calls("a", **UNDO), calls("b", "a", **UNDO), calls("c", "b")]


def failing(tenant: Tenant, until: str) -> UUID:
    """Return a run whose steps before one have succeeded."""
    run_id = begin_run(make_workflow(tenant, UNDONE, on_failure="compensate"))
    for key in "abc"[: "abc".index(until)]:
        run_step(run_id, key)
    return run_id


def phase(run_id: UUID) -> str:
    return WorkflowRun.objects.get(pk=run_id).phase


def test_a_failure_within_a_pause_is_undone_after_the_resume(tenant: Tenant, on_commit: Any):
    run_id = failing(tenant, "c")
    row = claim(run_id)["c"]
    start_step(row)
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)

    end(row, "FAILED")
    go_on(run_id)
    assert (phase(run_id), work_on(run_id)) == ("paused", [])
    assert states(run_id) == {"a": "SUCCEEDED", "b": "SUCCEEDED", "c": "FAILED"}

    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)
    assert work_on(run_id) == ["b", "a"]
    assert states(run_id) == {"a": "COMPENSATED", "b": "COMPENSATED", "c": "FAILED"}
    assert status_of(run_id) == "FAILED"


@pytest.mark.parametrize("ends", [True, False])
def test_a_run_that_is_being_undone_is_paused_and_goes_on_from_there(
    tenant: Tenant, on_commit: Any, ends: bool
):
    run_id = failing(tenant, "c")
    run_step(run_id, "c", "FAILED")
    row = claim(run_id)["b"]
    start_step(row)
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    if ends:
        end(row)
        go_on(run_id)
    assert (phase(run_id), claim(run_id)) == ("paused", {})

    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)
    if not ends:
        end(row)
        go_on(run_id)
    assert phase(run_id) == "compensating"
    assert work_on(run_id) == ["a"]
    assert status_of(run_id) == "FAILED"


def begun_undoing(tenant: Tenant, on_commit: Any) -> UUID:
    """Return a paused run of which a step is being undone."""
    run_id = failing(tenant, "c")
    run_step(run_id, "c", "FAILED")
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    return run_id


def test_a_paused_run_that_is_being_undone_can_be_cancelled_as_a_whole_only(
    tenant: Tenant, on_commit: Any
):
    run_id = begun_undoing(tenant, on_commit)

    with pytest.raises(Conflict):
        cancel_run(tenant.id, run_id, Scope("not_started"), actor=ACTOR)
    with on_commit(execute=True):
        cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    assert states(run_id)["b"] == "NOT_COMPENSATED"
    assert status_of(run_id) == "FAILED"


def test_one_pass_takes_some_of_the_marked_runs(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pausing, "_RUNS_AT_ONCE", 2)
    for _ in range(3):
        pause_run(tenant.id, begin_run(make_workflow(tenant, [calls("a")])), actor=ACTOR)

    settle_pauses_in(EVERYWHERE)
    assert marks() == 1
    settle_pauses_in(EVERYWHERE)
    assert marks() == 0
