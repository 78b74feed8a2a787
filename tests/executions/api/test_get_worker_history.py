from __future__ import annotations

from datetime import timedelta

import pytest

from executions.engine.clocks import database_now
from executions.models import WorkerMinute
from tenants.models import Tenant
from tests.executions.workers.test_registry import beat
from tests.factories import ApiClient, make_client

pytestmark = pytest.mark.django_db
WORKER = "worker-1@host:42"
PATH = f"/v1/workers/{WORKER}/history"


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
            ended=100,
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

    assert viewer.get(PATH).json() == {"worker": WORKER, "minutes": []}


def test_reading_needs_the_scope_read(alpha: Tenant, nobody: ApiClient):
    assert nobody.get(PATH).status_code == 401
    assert make_client(alpha, ["write"]).get(PATH).status_code == 403
