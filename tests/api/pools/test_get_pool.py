from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.executions.leasing import POOL, call, take_one, work
from tests.factories import ApiClient
from tests.support.closed_redis import closed_redis

PATH = f"/v1/pools/{POOL}"


def test_a_pool_shows_what_waits_what_is_leased_and_who_serves_it(client: ApiClient, alpha: Tenant):
    work(alpha, 3)
    client.post(f"{PATH}/lease", {"worker": "w-1", "max": 1})
    lease = take_one(alpha)
    call(lease.execution_id, "heartbeat", lease.token)

    shown = client.get(PATH).json()

    assert (shown["depth"], shown["in_flight"], shown["live_workers"]) == (1, 2, 1)
    assert shown["oldest_due_at"] is not None


def test_an_empty_pool_waits_for_nothing(client: ApiClient):
    client.patch(PATH, {})

    shown = client.get(PATH).json()

    assert (shown["depth"], shown["oldest_due_at"], shown["in_flight"]) == (0, None, 0)
    assert (shown["live_workers"], shown["version"]) == (0, 1)


def test_without_redis_nobody_knows_the_workers(client: ApiClient, monkeypatch: pytest.MonkeyPatch):
    client.patch(PATH, {})
    closed = closed_redis()
    monkeypatch.setattr("wire.heartbeats.client", lambda: closed)

    assert client.get(PATH).json()["live_workers"] is None
