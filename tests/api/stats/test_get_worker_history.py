from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from executions.external import pull_leases
from executions.external.pull_leases import Ask
from executions.loop.clocks import database_now
from executions.models import WorkerMinute
from shared.conf import conf
from shared.sql import run
from tenants.models import Tenant
from tests.factories import ApiClient
from tests.support.beats import beat
from wire import heartbeats

pytestmark = pytest.mark.django_db
WORKER = "worker-1@host:42"
PATH = f"/v1/workers/{WORKER}/history"


@pytest.fixture(autouse=True)
def _shown(settings: Any) -> None:
    """Let the operator have shown processes to everyone."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


def minutes(*hours_ago: float) -> None:
    now = database_now().replace(second=0, microsecond=0)
    for ago in hours_ago:
        WorkerMinute.objects.create(
            worker=WORKER,
            minute=now - timedelta(hours=ago),
            pool="handlers",
            slots=8,
            running=3,
            held=1,
            ended=1000,
            ended_in_minute=100,
            cpu_percent=12.5,
        )


def test_the_last_day_is_shown_oldest_first(viewer: ApiClient):
    minutes(0, 23, 25)

    shown = viewer.get(PATH).json()

    assert shown["worker"] == WORKER
    assert [row["minute"] for row in shown["minutes"]] == sorted(
        row["minute"] for row in shown["minutes"]
    )
    assert len(shown["minutes"]) == 2
    newest = shown["minutes"][-1]
    del newest["minute"]
    assert newest == {
        "pool": "handlers", "version": None, "capacity": 8, "in_flight": 3, "held": 1,
        "ended": 100, "cpu_percent": 12.5, "memory_bytes": None,
    }  # fmt: skip


def test_as_many_hours_as_asked_for(viewer: ApiClient):
    minutes(0, 2, 100)

    assert len(viewer.get(f"{PATH}?hours=1").json()["minutes"]) == 1
    assert len(viewer.get(f"{PATH}?hours=168").json()["minutes"]) == 3


@pytest.mark.parametrize("hours", ["0", "169", "x"])
def test_hours_out_of_range_are_refused(viewer: ApiClient, hours):
    assert viewer.get(f"{PATH}?hours={hours}").status_code == 400


def test_a_live_worker_without_a_minute_yet_is_no_stranger(viewer: ApiClient):
    assert viewer.get(PATH).status_code == 404

    beat(WORKER)

    assert viewer.get(PATH).json() == {"worker": WORKER, "minutes": [], "hours": []}


def test_hours_beyond_a_week_are_shown_by_hour(viewer: ApiClient):
    minutes(24 * 30, 24 * 30 + 1)
    run("workers/roll_up", {"now": database_now()})

    shown = viewer.get(f"{PATH}?resolution=hour&hours=2160").json()

    assert (len(shown["hours"]), shown["minutes"]) == (2, [])
    oldest = shown["hours"][0]
    assert oldest.pop("hour") < shown["hours"][1]["hour"]
    assert oldest == {
        "pool": "handlers", "version": None, "minutes": 1, "capacity": 8, "in_flight": 3.0,
        "most_in_flight": 3, "held": 1.0, "most_held": 1, "ended": 100, "cpu_percent": 12.5,
        "most_cpu_percent": 12.5, "most_memory_bytes": None,
    }  # fmt: skip
    assert viewer.get(f"{PATH}?resolution=hour&hours=2161").status_code == 400


@pytest.mark.parametrize("name", ["w-1", "a/b/history", "..", "ü ?#%/"])
def test_a_pull_worker_has_a_history_whatever_its_name(viewer: ApiClient, alpha: Tenant, name):
    pull_leases.noticed(alpha.id, Ask(pool="batch", worker=name), "192.0.2.1")
    [worker] = viewer.get("/v1/workers").json()["workers"]

    answer = viewer.get(f"/v1/workers/{worker['id']}/history")

    assert worker["name"] == name
    assert (answer.status_code, answer.json()["worker"]) == (200, worker["id"])


def test_an_id_with_a_slash_is_found(viewer: ApiClient):
    WorkerMinute.objects.create(worker="a/b@h:1", minute=database_now(), pool="p")

    assert len(viewer.get("/v1/workers/a/b@h:1/history").json()["minutes"]) == 1
    assert len(viewer.get("/v1/workers/a%2Fb@h:1/history").json()["minutes"]) == 1


def test_the_history_of_another_tenants_pull_worker_is_404(viewer: ApiClient, beta: Tenant):
    pull_leases.noticed(beta.id, Ask(pool="batch", worker="theirs"), "192.0.2.1")
    worker_id = heartbeats.pull_worker_id(beta.id, "pull.batch", "theirs")
    WorkerMinute.objects.create(
        worker=worker_id, minute=database_now(), pool="p", tenant_id=beta.id
    )

    assert viewer.get(f"/v1/workers/{worker_id}/history").status_code == 404


def test_an_id_that_cannot_be_stored_is_404(viewer: ApiClient):
    assert viewer.get("/v1/workers/%00/history").status_code == 404
