"""Limits of tenants in dispatch: what is sent of each, and what a Redis that was emptied learns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from time import time
from typing import Any

import pytest
from django.db.models import F

from executions.dispatch.tenant_limits import (
    TenantLimits,
    free_ended,
    in_flight_of,
    note_places,
    texts,
)
from executions.models import Execution
from shared.conf import conf
from shared.redis_client import client
from tenants.models import Tenant
from tenants.quotas import known
from tests.factories import make_execution, make_task, make_tenant, once
from tests.support.beats import beat
from tests.support.dispatching import Scheduler
from wire import start_guard
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh() -> Any:
    known._executions = float("-inf"), {}
    yield
    known._executions = float("-inf"), {}


def limit(tenant: Tenant, **quotas: int) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(quotas=quotas, unlimited=False)
    known.forget(tenant.pk)


def due(scheduler: Scheduler, tenant: Tenant, count: int) -> None:
    for _ in range(count):
        make_task(tenant, once())
    scheduler.prepare()
    Execution.objects.filter(status="PENDING").update(due_at=F("due_at") - timedelta(hours=1))


def by_tenant(scheduler: Scheduler) -> Counter[str]:
    return Counter(entry["tenant"] for entry in scheduler.sent)


def test_without_limits_nothing_is_asked(alpha: Tenant, django_assert_num_queries: Any):
    known.limits_of_executions()
    limits = TenantLimits()

    with django_assert_num_queries(0):
        limits.look()
        assert limits.parameters() == {}
        assert texts([alpha.pk]) == {}


def test_a_limited_tenant_gets_its_places_and_a_few_ahead_and_others_all(
    alpha: Tenant, beta: Tenant
):
    limit(alpha, executions_in_flight=2)
    scheduler = Scheduler()
    beat("w1", slots=100, hold=1000)
    due(scheduler, alpha, 30)
    due(scheduler, beta, 30)

    scheduler.run()

    assert by_tenant(scheduler) == {str(alpha.pk): 9, str(beta.pk): 30}
    assert {entry.get("tenant_limits") for entry in scheduler.sent} == {None, "1,2,"}
    assert not Execution.objects.filter(parked=True).exists()


def test_a_rate_gets_what_starts_in_two_seconds(alpha: Tenant):
    limit(alpha, executions_per_second=3)
    scheduler = Scheduler()
    beat("w1", slots=100, hold=1000)
    due(scheduler, alpha, 30)

    scheduler.run()

    assert by_tenant(scheduler) == {str(alpha.pk): 7}
    assert {entry["tenant_limits"] for entry in scheduler.sent} == {"1,,3.0"}


@pytest.fixture
def tiers(settings: Any) -> None:
    settings.PUNCTUAL = replace(
        conf(), tiers={"default": {"executions_in_flight": 2}, "large": {"stored_tasks": 900}}
    )


def test_a_limit_of_the_tier_bounds_a_tenant_of_which_workers_have_nothing(
    alpha: Tenant, beta: Tenant, tiers: None
):
    Tenant.objects.filter(pk=beta.pk).update(tier="large")
    scheduler = Scheduler()
    beat("w1", slots=100, hold=1000)
    due(scheduler, alpha, 30)
    due(scheduler, beta, 30)

    scheduler.run()

    assert by_tenant(scheduler) == {str(alpha.pk): 9, str(beta.pk): 30}


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({"quotas": {"executions_in_flight": 1}}, 7),
        ({"quotas": {"executions_in_flight": None}}, 30),
        ({"quotas": {"stored_tasks": 1000}}, 9),
        ({"tier": "gone"}, 9),
        ({"unlimited": True}, 30),
    ],
)
def test_a_limit_of_the_tenants_own_is_in_the_place_of_the_tiers(
    alpha: Tenant, tiers: None, parts: dict[str, Any], count: int
):
    Tenant.objects.filter(pk=alpha.pk).update(**parts)
    known.forget(alpha.pk)
    scheduler = Scheduler()
    beat("w1", slots=100, hold=1000)
    due(scheduler, alpha, 30)

    scheduler.run()

    assert by_tenant(scheduler) == {str(alpha.pk): count}


def test_a_pass_names_no_tenant_of_a_tier_that_has_no_work_at_workers(tiers: None):
    idle = [make_tenant(f"Idle {number}") for number in range(5)]
    busy, own = make_tenant("Busy"), make_tenant("Own")
    limit(own, executions_per_second=3)
    make_execution(busy, "RUNNING")
    limits = TenantLimits()

    limits.look()

    assert limits.parameters() == {
        "limited": [own.pk, busy.pk],
        "places": [7, 8],
        "left_out": [],
        "tiers": ["default"],
        "of_tiers": [9],
    }
    assert [limits.left(one.pk) for one in idle] == [9] * 5
    limits.took({idle[0].pk: 9})
    assert limits.reached
    assert limits.parameters()["left_out"] == [idle[0].pk]


def test_what_ends_is_followed_by_the_next(alpha: Tenant):
    limit(alpha, executions_in_flight=1)
    scheduler = Scheduler()
    beat("w1", slots=100, hold=1000)
    due(scheduler, alpha, 10)
    scheduler.run()
    assert len(scheduler.sent) == 7

    Execution.objects.filter(pk=scheduler.sent[0]["id"]).update(
        status="SUCCEEDED", finished_at=F("due_at"), lease_expires_at=None
    )
    scheduler.run()

    assert len(scheduler.sent) == 8


def test_an_unlimited_tenant_has_none(alpha: Tenant):
    limit(alpha, executions_in_flight=1)
    Tenant.objects.filter(pk=alpha.pk).update(unlimited=True)
    known.forget(alpha.pk)

    assert texts([alpha.pk]) == {}


@pytest.mark.logs("places.noted", count=1)
def test_a_redis_that_was_emptied_learns_what_is_under_way_before_anything_is_sent(alpha: Tenant):
    limit(alpha, executions_in_flight=1)
    make_execution(alpha, "RUNNING")
    client().flushdb()

    note_places(start_guard.current_incarnation())
    note_places(start_guard.current_incarnation())

    assert client().zcard(f"punctual:flying:{alpha.pk}") == 1
    assert in_flight_of(alpha.pk) == 1


def test_places_of_work_that_ended_untold_are_free_again(alpha: Tenant):
    limit(alpha, executions_in_flight=1)
    running = make_execution(alpha, "RUNNING")
    client().flushdb()
    note_places(start_guard.current_incarnation())
    limits = TenantLimits()

    limits.look()
    assert client().zcard(f"punctual:flying:{alpha.pk}") == 1

    # Its worker began it before there was a limit, or is lost, and gives no place back.
    Execution.objects.filter(pk=running.pk).update(
        status="SUCCEEDED", finished_at=F("due_at"), lease_expires_at=None
    )
    limits.look()
    assert client().zcard(f"punctual:flying:{alpha.pk}") == 1
    limits._freed_at = float("-inf")
    limits.look()

    assert client().zcard(f"punctual:flying:{alpha.pk}") == 0
    assert free_ended([alpha.pk]) == 0


def test_parked_work_of_a_limited_tenant_keeps_nothing_behind_it(alpha: Tenant, beta: Tenant):
    limit(alpha, executions_in_flight=1)
    scheduler = Scheduler()
    # What dispatch reads at one time is all of alpha's, whose destination takes none.
    beat("w1", slots=10, hold=10)
    name = key_of(alpha.pk, "api.example.com")
    now = time() * 1000
    client().set(f"punctual:circuit:{name}", f"{now + 60_000:.0f}||0")
    client().zadd("punctual:hot", {name: now + 60_000})
    due(scheduler, alpha, 40)
    due(scheduler, beta, 1)

    scheduler.run()

    assert str(beta.pk) in by_tenant(scheduler)


def test_parked_work_of_a_limited_tenant_takes_no_more_than_its_places(alpha: Tenant):
    limit(alpha, executions_in_flight=1)
    scheduler = Scheduler()
    beat("w1", slots=100, hold=100)
    due(scheduler, alpha, 40)
    # Its destination has capacity again.
    Execution.objects.update(parked=True, reason="destination_rate")

    scheduler.run()

    # Two for its place, and five ahead.
    assert by_tenant(scheduler)[str(alpha.pk)] == 7
