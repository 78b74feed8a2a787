"""Steps that are open are taken back without the run's lock, until none is unstarted."""

from __future__ import annotations

import pytest

from executions import transitions
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import make_execution, make_tenant
from tests.support.closed_redis import closed_redis
from tests.support.workflow_steps import claim, end, open_keys, start_step
from tests.support.workflows import (
    begin_run,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows import taking_back
from workflows.stages import repair
from workflows.taking_back import take_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_the_open_steps_that_are_named_are_cancelled(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b"), calls("c")]))
    claim(run_id)

    take_back({run_id: {1, 3}})

    assert open_keys(run_id) == ["b"]


def test_all_of_a_run_is_taken_back_and_nothing_of_others(tenant: Tenant):
    task = make_workflow(tenant, [calls("a"), calls("b")])
    run_id, other = begin_run(task), begin_run(task)

    take_back({run_id: {1, 2}, new_id(): {1}})

    assert open_keys(run_id) == []
    assert open_keys(other) == ["a", "b"]
    assert Execution.objects.get(pk=run_id).status == "RUNNING"


def test_many_steps_are_taken_back_in_batches(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(taking_back, "_AT_ONCE", 2)
    steps = [calls("load", for_each="{{ input }}"), calls("b")]
    run_id = begin_run(make_workflow(tenant, steps), [1, 2, 3, 4, 5])
    rows = claim(run_id)
    start_step(rows["load[1]"])
    start_step(rows["load[2]"])

    take_back({run_id: {1}})

    assert open_keys(run_id) == ["b", "load[1]", "load[2]"] or open_keys(run_id) == [
        "load[1]",
        "load[2]",
        "b",
    ]


def test_what_runs_is_asked_once(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    row = claim(run_id)["a"]
    start_step(row)

    take_back({run_id: {1}})
    asked = Execution.objects.get(pk=row.id).cancel_requested_at
    take_back({run_id: {1}})

    assert asked is not None
    assert Execution.objects.get(pk=row.id).cancel_requested_at == asked


@pytest.mark.logs("steps.not_taken_back")
def test_without_redis_released_steps_stay_until_it_is_back(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    claim(run_id)
    with monkeypatch.context() as patch:
        closed = closed_redis()
        patch.setattr("wire.start_guard.client", lambda: closed)
        take_back({run_id: {1}})
        assert open_keys(run_id) == ["a"]

    take_back({run_id: {1}})

    assert open_keys(run_id) == []


def test_a_fail_fast_while_redis_is_away_is_finished_when_it_is_back(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    # Fault 24 of the design.
    step = calls("load", for_each="{{ input }}", max_parallel=4, retry_policy={"max_attempts": 1})
    run_id = begin_run(make_workflow(tenant, [step]), list(range(9)))
    other = make_execution(make_tenant("Beta"), "QUEUED")
    rows = claim(run_id)
    with monkeypatch.context() as patch:
        closed = closed_redis()
        patch.setattr("wire.start_guard.client", lambda: closed)
        end(rows["load[1]"], "FAILED")
        go_on(run_id)
        # What workers have stays; nothing of others waits for it.
        assert open_keys(run_id) == ["load[0]", "load[2]", "load[3]"]
        assert states(run_id) == {"load": "FAILED"}
        done = Finish(other.id, other.fencing_token or 0, 1, "SUCCEEDED", "SUCCEEDED")
        assert transitions.finish([done]) == [other.id]
    partitions = Partitions()
    partitions.run_once()

    repair(partitions)
    repair(partitions)

    assert open_keys(run_id) == []
    assert status_of(run_id) == "FAILED"
