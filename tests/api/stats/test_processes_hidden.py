"""Processes of the installation as keys of tenants see them: capacity, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from executions.external.pull_leases import Ask, Load, noticed
from executions.loop.clocks import database_now
from executions.models import Execution, SchedulerNode, WorkerMinute
from executions.ownership.partitions import Partitions
from shared.sql import run
from tenants.models import Tenant
from tests.factories import ApiClient, finish, make_execution, release, start
from tests.support.beats import beat
from tests.support.recorder import ask_for_outcomes

pytestmark = pytest.mark.django_db
HOST = "node-7.internal"
WORKER = f"worker-1@{HOST}:4242-a1b2c3"
SECRETS = (HOST, "4242", "a1b2c3", "9.9.9")


@pytest.fixture
def execution(alpha: Tenant) -> Execution:
    """Return an execution that a worker of the installation has run."""
    made = make_execution(alpha, "PENDING")
    row = next(row for row in release() if row.id == made.id)
    start([row], worker=WORKER)
    finish(row, "FAILED", reason="attempts_exhausted", worker=WORKER)
    return made


@pytest.fixture
def fleet(alpha: Tenant, execution: Execution) -> None:
    """Let all kinds of processes run on a host, and a pull worker of the tenant elsewhere."""
    Partitions().run_once()
    SchedulerNode.objects.update(name=f"scheduler-1@{HOST}")
    beat(WORKER, host=HOST, pid=4242, version="9.9.9", running=3, held=2, cpu_percent=77.5)
    ask_for_outcomes(f"recorder-1@{HOST}:4243")
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(worker=WORKER, minute=minute, pool="default", host=HOST)
    noticed(alpha.id, Ask(pool="batch", worker="etl-1", load=Load("2.1")), "192.0.2.1")


def test_no_answer_of_the_api_names_a_host_a_version_or_a_load(
    viewer: ApiClient, execution: Execution, fleet: None
):
    paths = (
        "/v1/workers",
        "/v1/workers/earlier",
        "/v1/schedulers",
        "/v1/executions",
        f"/v1/executions/{execution.id}",
        f"/v1/executions/{execution.id}/explain",
        f"/v1/tasks/{execution.task_id}",
        "/v1/dlq",
    )
    for path in paths:
        answer = viewer.get(path)
        assert answer.status_code == 200, path
        for secret in SECRETS:
            assert secret not in answer.text, (path, secret)


def test_a_worker_is_shown_by_pool_state_and_capacity(viewer: ApiClient, fleet: None):
    shown = viewer.get("/v1/workers").json()

    [ours] = [one for one in shown["workers"] if one["kind"] == "worker"]
    assert (ours["pool"], ours["state"], ours["capacity"]) == ("default", "live", 4)
    hidden = ("host", "version", "in_flight", "held", "cpu_percent", "memory_bytes")
    assert {ours[name] for name in hidden} == {None}
    assert [one["pending"] for one in shown["recorders"]] == [None]


def test_a_worker_has_the_same_substitute_wherever_it_is_named(
    viewer: ApiClient, execution: Execution, fleet: None
):
    [ours] = [one for one in viewer.get("/v1/workers").json()["workers"] if one["kind"] == "worker"]
    shown = viewer.get(f"/v1/executions/{execution.id}").json()

    assert shown["worker"] == shown["attempts"][0]["worker"] == ours["id"]


def test_the_tenants_own_pull_worker_is_shown_whole(viewer: ApiClient, fleet: None):
    [own] = [
        one for one in viewer.get("/v1/workers").json()["workers"] if one["kind"] == "pull_worker"
    ]

    assert (own["name"], own["version"], own["in_flight"]) == ("etl-1", "2.1", 0)
    assert viewer.get(f"/v1/workers/{own['id']}/history").status_code == 200


def test_partitions_say_whether_they_have_an_owner_and_not_which(viewer: ApiClient, fleet: None):
    shown = viewer.get("/v1/schedulers").json()

    assert {(row["owned"], row["owner"]) for row in shown["partitions"]} == {(True, None)}
    assert [(one["host"], one["partitions"]) for one in shown["schedulers"]] == [(None, None)]


@pytest.mark.parametrize("name", ["id", "substitute"])
def test_the_history_of_a_worker_of_ours_is_404(viewer: ApiClient, fleet: None, name: str):
    [ours] = [one for one in viewer.get("/v1/workers").json()["workers"] if one["kind"] == "worker"]
    worker = WORKER if name == "id" else ours["id"]

    assert viewer.get(f"/v1/workers/{worker}/history").status_code == 404


def test_a_search_of_earlier_workers_tells_nothing_of_hosts(viewer: ApiClient, fleet: None):
    run("workers/roll_up", {"now": database_now()})

    found: Any = viewer.get(f"/v1/workers/earlier?days=90&q={HOST}").json()

    assert found == {"workers": []}
