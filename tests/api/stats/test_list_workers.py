from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from executions.complete.outcome_stream import OutcomeConsumer, ensure_group
from executions.external.pools import change_pool
from shared.conf import conf
from tenants.models import Tenant
from tests.executions.leasing import work
from tests.factories import ACTOR, ApiClient
from tests.support.beats import beat
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db
PATH = "/v1/workers"


@pytest.fixture(autouse=True)
def _shown(settings: Any) -> None:
    """Let the operator have shown processes to everyone."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


def test_workers_and_recorders_are_listed(client: ApiClient):
    beat("mail@host-1:42", pool="mail", host="host-1", pid=42, running=3, version="1.0.0")
    ensure_group()
    OutcomeConsumer("recorder-1", 0.01).read(1)

    shown = client.get(PATH).json()

    (worker,) = shown["workers"]
    assert (worker["name"], worker["host"], worker["pool"]) == ("mail", "host-1", "mail")
    assert (worker["state"], worker["capacity"], worker["in_flight"]) == ("live", 4, 3)
    assert (worker["version"], worker["memory_bytes"]) == ("1.0.0", None)
    (recorder,) = shown["recorders"]
    assert (recorder["name"], recorder["live"], recorder["pending"]) == ("recorder-1", True, 0)


def test_nobody_is_listed_where_nobody_works(client: ApiClient):
    assert client.get(PATH).json() == {"workers": [], "recorders": []}


@pytest.mark.logs("request.without_server")
def test_without_redis_the_call_is_503(client: ApiClient, monkeypatch: pytest.MonkeyPatch):
    closed = closed_redis()
    monkeypatch.setattr("wire.heartbeats.client", lambda: closed)

    answer = client.get(PATH)

    assert answer.status_code == 503
    assert "Retry-After" in answer.headers


def test_a_pull_worker_shows_its_leases_and_what_it_says_of_itself(
    client: ApiClient, alpha: Tenant
):
    work(alpha, 3)
    body = {"worker": "etl/7", "max": 2, "version": "2.1.0", "capacity": 8, "cpu_percent": 12.5}
    first = client.post("/v1/pools/batch/lease", {**body, "memory_bytes": 1024}).json()["leases"]
    # A call that leases nothing more takes nothing away from what the worker has.
    change_pool(alpha.id, "batch", {"paused": True}, actor=ACTOR)
    client.post("/v1/pools/batch/lease", {**body, "memory_bytes": 2048})

    [worker] = client.get(PATH).json()["workers"]

    assert (len(first), worker["in_flight"], worker["capacity"]) == (2, 2, 8)
    assert (worker["kind"], worker["name"], worker["version"]) == ("pull_worker", "etl/7", "2.1.0")
    assert (worker["cpu_percent"], worker["memory_bytes"]) == (12.5, 2048)


def test_a_pull_worker_that_says_nothing_of_itself_asks_for_its_capacity(
    client: ApiClient, alpha: Tenant
):
    client.post("/v1/pools/batch/lease", {"worker": "w", "max": 3})

    [worker] = client.get(PATH).json()["workers"]

    assert (worker["capacity"], worker["version"], worker["cpu_percent"]) == (3, None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": "x" * 41},
        {"capacity": 0},
        {"cpu_percent": -1},
        {"memory_bytes": 1.5},
        {"load": 3},
    ],
)
def test_nonsense_that_a_pull_worker_says_of_itself_is_refused(
    client: ApiClient, wrong: dict[str, object]
):
    answer = client.post("/v1/pools/batch/lease", {"worker": "w", **wrong})

    assert answer.status_code in (400, 422)
    assert answer.json()["errors"][0]["pointer"] == f"#/{next(iter(wrong))}"
