"""Steps of workflows wait while their pool or destination is paused."""

from __future__ import annotations

from uuid import UUID

import pytest

from executions.changes.pauses import Wanted, create_pause, end_pause
from executions.models import Execution
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, release
from tests.support.workflows import begin_run, calls, make_workflow, status_of, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def pause(tenant: Tenant, scope: str, value: str = "") -> UUID:
    found, _ = create_pause(tenant.id, Wanted(scope, value), actor=ACTOR)
    return found.id


def held(run: UUID) -> list[tuple[bool, str]]:
    found = Execution.objects.filter(run_id=run).order_by("id")
    return list(found.values_list("held", "reason"))


@pytest.mark.parametrize(
    ("scope", "value"),
    [
        ("destination", "api.example.com"),
        ("destination", "api.example.com:443"),
        ("pool", "default"),
        ("tenant", ""),
    ],
)
def test_a_step_that_is_open_waits_until_the_pause_ends(tenant: Tenant, scope: str, value: str):
    run = begin_run(make_workflow(tenant, [calls("a")]))

    found = pause(tenant, scope, value)
    assert held(run) == [(True, "place_paused")]
    assert release() == []

    end_pause(tenant.id, found, actor=ACTOR)
    assert held(run) == [(False, "")]
    work(run)
    assert status_of(run) == "SUCCEEDED"


@pytest.mark.parametrize(
    ("scope", "value"), [("destination", "other.example.com"), ("pool", "etl"), ("label", "team:x")]
)
def test_a_pause_of_another_place_holds_nothing(tenant: Tenant, scope: str, value: str):
    run = begin_run(make_workflow(tenant, [calls("a")], labels={"team": "x"}))

    pause(tenant, scope, value)

    assert held(run) == [(False, "")]


def test_a_step_that_begins_under_a_pause_waits(tenant: Tenant):
    steps = [
        calls("a", target={"url": "https://first.example.com/"}),
        calls("b", "a"),
    ]
    run = begin_run(make_workflow(tenant, steps))
    found = pause(tenant, "destination", "api.example.com")

    assert work(run) == ["a"]
    assert held(run)[1] == (True, "place_paused")

    end_pause(tenant.id, found, actor=ACTOR)
    assert work(run) == ["b"]


def test_a_step_under_two_pauses_waits_for_both(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    first = pause(tenant, "destination", "api.example.com")
    second = pause(tenant, "pool", "default")

    end_pause(tenant.id, first, actor=ACTOR)
    assert held(run) == [(True, "place_paused")]
    end_pause(tenant.id, second, actor=ACTOR)
    assert held(run) == [(False, "")]


def test_a_pause_of_another_tenant_holds_nothing(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a")]))

    pause(make_tenant("Beta"), "destination", "api.example.com")

    assert held(run) == [(False, "")]
