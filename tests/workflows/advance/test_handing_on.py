"""Steps that begin take the places of steps that have ended, and no more."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.dispatch import scarcity
from executions.dispatch.handing_on import HandingOn
from executions.models import Execution
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


def begun(tenant: Tenant, *steps: dict[str, Any]) -> UUID:
    return begin_run(make_workflow(tenant, steps))


def test_the_next_step_takes_the_place_of_the_one_that_has_ended(
    tenant: Tenant, handing_on: HandingOn
):
    run = begun(tenant, calls("a"), calls("b", "a"))
    end(claim(run)["a"])

    advance([run], handing_on)

    assert with_workers(run) == [2]


def test_as_many_steps_as_have_ended_take_a_place_urgent_ones_first(
    tenant: Tenant, handing_on: HandingOn
):
    later = [calls("b", "a", priority=9), calls("c", "a"), calls("d", "a", priority=7)]
    run = begun(tenant, calls("a"), *later)
    end(claim(run)["a"])

    advance([run], handing_on)

    assert with_workers(run) == [3]
    assert Execution.objects.filter(run_id=run, status="PENDING").count() == 2


def test_a_step_of_another_pool_waits_for_dispatch(tenant: Tenant, handing_on: HandingOn):
    beat("w2", pool="gpu")
    other = {"kind": "handler", "handler": "demo", "pool": "gpu"}
    run = begun(tenant, calls("a"), {"key": "b", "depends_on": ["a"], "target": other})
    end(claim(run)["a"])

    advance([run], handing_on)

    assert with_workers(run) == []


def test_a_step_that_was_taken_back_leaves_no_place(tenant: Tenant, handing_on: HandingOn):
    step = calls("b", "a", condition="all_done")
    run = begun(tenant, calls("a"), step)
    end(claim(run)["a"], "CANCELLED")

    advance([run], handing_on)

    assert with_workers(run) == []


def test_nothing_is_handed_on_while_due_work_waits_for_capacity(
    tenant: Tenant, handing_on: HandingOn
):
    run = begun(tenant, calls("a"), calls("b", "a"))
    end(claim(run)["a"])
    scarcity.note(["default"])

    advance([run], handing_on)

    assert with_workers(run) == []
