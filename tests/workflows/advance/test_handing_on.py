"""Steps that begin take the places of steps that have ended, and no more."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.dispatch import scarcity
from executions.dispatch.handing_on import HandingOn
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.factories import make_tenant
from tests.support.beats import beat
from tests.support.recording_broker import Broker
from tests.support.workflow_steps import claim, end
from tests.support.workflows import begin_run, calls, make_workflow
from workflows.advance.stage import advance

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def handing_on() -> HandingOn:
    beat("w1")
    return HandingOn(Broker().publish, active_signing_secrets)


def with_workers(run: UUID) -> list[int | None]:
    """Return the steps of a run that workers have, by number."""
    found = Execution.objects.filter(run_id=run, status="QUEUED")
    return list(found.order_by("step").values_list("step", flat=True))


def go_on(run: UUID, handing_on: HandingOn) -> None:
    """Advance a run as a recorder does, while a scheduler lives."""
    Partitions().run_once()
    advance([run], handing_on)


def begun(tenant: Tenant, *steps: dict[str, Any]) -> UUID:
    return begin_run(make_workflow(tenant, steps))


def test_the_next_step_takes_the_place_of_the_one_that_has_ended(
    tenant: Tenant, handing_on: HandingOn
):
    run = begun(tenant, calls("a"), calls("b", "a"))
    end(claim(run)["a"])

    go_on(run, handing_on)

    assert with_workers(run) == [2]


def test_as_many_steps_as_have_ended_take_a_place_urgent_ones_first(
    tenant: Tenant, handing_on: HandingOn
):
    later = [calls("b", "a", priority=9), calls("c", "a"), calls("d", "a", priority=7)]
    run = begun(tenant, calls("a"), *later)
    end(claim(run)["a"])

    go_on(run, handing_on)

    assert with_workers(run) == [3]
    assert Execution.objects.filter(run_id=run, status="PENDING").count() == 2


def test_a_step_of_another_pool_waits_for_dispatch(tenant: Tenant, handing_on: HandingOn):
    beat("w2", pool="gpu")
    other = {"kind": "handler", "handler": "demo", "pool": "gpu"}
    run = begun(tenant, calls("a"), {"key": "b", "depends_on": ["a"], "target": other})
    end(claim(run)["a"])

    go_on(run, handing_on)

    assert with_workers(run) == []


def test_a_step_that_was_taken_back_leaves_no_place(tenant: Tenant, handing_on: HandingOn):
    step = calls("b", "a", condition="all_done")
    run = begun(tenant, calls("a"), step)
    end(claim(run)["a"], "CANCELLED")

    go_on(run, handing_on)

    assert with_workers(run) == []


def test_nothing_is_handed_on_while_due_work_waits_for_capacity(
    tenant: Tenant, handing_on: HandingOn
):
    run = begun(tenant, calls("a"), calls("b", "a"))
    end(claim(run)["a"])
    scarcity.note(["default"])

    go_on(run, handing_on)

    assert with_workers(run) == []


def test_a_step_that_is_taken_back_at_once_does_not_start(tenant: Tenant, handing_on: HandingOn):
    each = calls("b", "a", for_each="{{ steps.a.output }}", payload="{{ item.x }}")
    run = begun(tenant, calls("a"), each)
    # The template of the second item has no value, and so the step has failed.
    end(claim(run)["a"], result=[{"x": 1}, {}])

    go_on(run, handing_on)

    assert with_workers(run) == []


def test_what_undid_a_step_leaves_no_place(tenant: Tenant, handing_on: HandingOn):
    undo = {"target": {"url": "https://api.example.com/undo"}}
    steps = [calls("a", compensate=undo), calls("b", "a", compensate=undo), calls("c", "b")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate"))
    for key, status in (("a", "SUCCEEDED"), ("b", "SUCCEEDED"), ("c", "FAILED")):
        end(claim(run)[key], status)
        advance([run])

    [row] = claim(run).values()
    end(row)
    go_on(run, handing_on)

    assert with_workers(run) == []
