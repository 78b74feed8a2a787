"""A key makes so many calls a second, and a tenant has a part of a web process at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.protocol import rate_limits
from api.protocol.rate_limits import MOST_AT_ONCE, AtOnce, RateLimited
from shared.conf import conf
from shared.ids import new_id
from shared.redis_client import RATE_PREFIX, client, lua
from shared.web_pool import POOL
from tenants.models import Tenant
from tests.support.api import ApiClient, make_client, make_tenant
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db


class Clock:
    """Redis' clock as the script reads it; it stands still."""

    def __init__(self) -> None:
        self.milliseconds = 2_000_000_000_000

    def script(self, name: str) -> str:
        text, asks = lua(name), "redis.call('TIME')"
        assert text.count(asks) == 1
        seconds, rest = divmod(self.milliseconds, 1000)
        return text.replace(asks, f"{{'{seconds}', '{rest * 1000}'}}")


@pytest.fixture(autouse=True)
def clock(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let a key make two calls a second, so four at once."""
    settings.PUNCTUAL = replace(conf(), api_calls_per_second=2)
    found = Clock()
    monkeypatch.setattr(rate_limits, "lua", found.script)
    return found


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def caller(tenant: Tenant) -> ApiClient:
    return make_client(tenant)


def statuses(caller: ApiClient, count: int, path: str = "/v1/me") -> list[int]:
    return [caller.get(path).status_code for _ in range(count)]


def test_a_key_makes_the_calls_of_two_seconds_at_once_and_no_more(caller: ApiClient):
    answers = [caller.get("/v1/me") for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
    assert answers[0].headers["RateLimit-Policy"] == '"calls";q=4;w=2'
    assert [answer.headers["RateLimit"] for answer in answers] == [
        '"calls";r=3;t=1',
        '"calls";r=2;t=1',
        '"calls";r=1;t=2',
        '"calls";r=0;t=2',
        '"calls";r=0;t=2',
    ]
    problem = answers[-1].json()
    assert (problem["code"], problem["type"]) == ("rate_limited", "/problems/rate_limited")
    assert problem["detail"] == "This key may make 2 calls a second, and 4 at once."
    assert answers[-1].headers["Retry-After"] == "1"


def test_a_call_that_was_refused_costs_nothing_and_time_gives_calls_back(
    caller: ApiClient, clock: Clock
):
    assert statuses(caller, 7) == [200] * 4 + [429] * 3

    clock.milliseconds += 499
    assert statuses(caller, 1) == [429]
    clock.milliseconds += 1
    assert statuses(caller, 2) == [200, 429]
    clock.milliseconds += 10_000
    assert statuses(caller, 5) == [200] * 4 + [429]


def test_a_refused_change_has_changed_nothing(tenant: Tenant, caller: ApiClient):
    statuses(caller, 4)

    refused = caller.post("/v1/api-keys", {"name": "one more", "scopes": ["read"]})

    assert refused.status_code == 429
    assert list(tenant.api_keys.values_list("name", flat=True)) == ["test"]


def test_keys_have_rates_of_their_own(tenant: Tenant, caller: ApiClient):
    assert statuses(caller, 5)[-1] == 429

    assert statuses(make_client(tenant), 1) == [200]


def test_a_call_that_the_key_may_not_make_counts_as_well(tenant: Tenant):
    reader = make_client(tenant, ["read"])

    assert statuses(reader, 5, "/v1/api-keys") == [403] * 4 + [429]


def test_workers_have_no_rate(tenant: Tenant):
    worker = make_client(tenant, ["worker"])

    answers = [worker.post("/v1/pools/gpu/lease", {"worker": "w1"}) for _ in range(6)]

    assert {answer.status_code for answer in answers} == {200}
    assert "RateLimit" not in answers[0].headers
    reader = make_client(tenant, ["read"])
    refused = [reader.post("/v1/pools/gpu/lease", {"worker": "w1"}) for _ in range(5)]
    assert [answer.status_code for answer in refused] == [403] * 4 + [429]


def test_a_tenant_without_limits_has_no_rate(tenant: Tenant, caller: ApiClient):
    Tenant.objects.filter(pk=tenant.pk).update(unlimited=True)

    assert statuses(caller, 6) == [200] * 6
    assert caller.get("/v1/me").json()["limits"]["calls_per_second"] is None


def test_a_deployment_may_have_no_rate(caller: ApiClient, settings: Any):
    settings.PUNCTUAL = replace(conf(), api_calls_per_second=0)

    assert statuses(caller, 6) == [200] * 6


def test_a_key_sees_its_rate(caller: ApiClient):
    assert caller.get("/v1/me").json()["limits"]["calls_per_second"] == 2


def test_without_redis_no_call_is_refused(caller: ApiClient, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def away() -> Any:
        asked.append("asked")
        return closed_redis()

    now = Moment(monkeypatch)
    monkeypatch.setattr(rate_limits, "client", away)

    assert statuses(caller, 6) == [200] * 6
    # A server that hangs is not asked by each call.
    assert len(asked) == 1
    now.seconds += 10.0
    assert statuses(caller, 3) == [200] * 3
    assert len(asked) == 2


def test_one_call_finds_out_whether_redis_is_back(
    caller: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    now = Moment(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(rate_limits, "client", closed_redis)
        statuses(caller, 1)
    now.seconds += 10.0

    def others_ask_meanwhile(name: str) -> str:
        # While this one waits for the answer.
        assert rate_limits._spend("another", 2) is None
        return lua(name)

    with monkeypatch.context() as patched:
        patched.setattr(rate_limits, "lua", others_ask_meanwhile)
        assert rate_limits._spend("one", 2) is not None
    assert rate_limits._spend("another", 2) is not None


class Moment:
    """The process's own clock, and a Redis that has answered so far."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1000.0
        monkeypatch.setattr(rate_limits, "monotonic", lambda: self.seconds)
        monkeypatch.setattr(rate_limits._Away, "failing", False)
        monkeypatch.setattr(rate_limits._Away, "until", float("-inf"))


def test_what_a_rate_keeps_expires_by_itself(clock: Clock):
    key = RATE_PREFIX + "one call in 1,000 seconds"

    client().eval(clock.script("rate"), 1, key, "0.001", "1")

    assert 0 < client().pttl(key) <= 1_000_000


def test_a_clock_that_was_set_back_refuses_no_call_for_long(caller: ApiClient, clock: Clock):
    assert statuses(caller, 4) == [200] * 4

    clock.milliseconds -= 3_600_000

    assert statuses(caller, 5) == [200] * 4 + [429]


def test_slow_calls_of_a_tenant_leave_room_for_others(monkeypatch: pytest.MonkeyPatch):
    now = Moment(monkeypatch)
    calls, one, other = AtOnce(2), new_id(), new_id()
    first = calls.begin(one)
    calls.begin(one)
    # Quick ones wait for a thread instead.
    third = calls.begin(one)
    now.seconds += 1.0

    with pytest.raises(RateLimited) as refused:
        calls.begin(one)
    calls.begin(other)
    calls.end(first)
    with pytest.raises(RateLimited):
        calls.begin(one)
    calls.end(third)
    calls.begin(one)

    assert (refused.value.status, refused.value.retry_after) == (429, 1)


def test_a_tenant_leaves_connections_and_threads_to_others():
    assert 0 < MOST_AT_ONCE < POOL["max_size"] <= rate_limits.THREADS


def test_a_crowd_of_one_tenant_is_refused_and_another_tenant_is_answered(
    tenant: Tenant, caller: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    now = Moment(monkeypatch)
    full = AtOnce(1)
    slow = full.begin(tenant.id)
    now.seconds += 1.0
    monkeypatch.setattr("api.protocol.views.at_once", full)

    refused = caller.get("/v1/me")

    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert statuses(make_client(make_tenant("Beta")), 1) == [200]
    worker = make_client(tenant, ["worker"])
    assert worker.post("/v1/pools/gpu/lease", {"worker": "w1"}).status_code == 200
    full.end(slow)
    # Calls that have been answered count no longer, nor do those that were refused or have failed.
    assert [*statuses(caller, 1), *statuses(caller, 1, "/v1/tasks/none")] == [200, 404]
    now.seconds += 1.0
    assert statuses(caller, 1) == [200]
