"""Runs that people ask for have an input, which the workflow's schema judges."""

from __future__ import annotations

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from shared.exceptions import InvalidInput, NotFound
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant
from tests.support.workflows import calls, make_workflow
from workflows.launching import get_workflow, start_run

pytestmark = pytest.mark.django_db
SCHEMA = {"type": "object", "required": ["day"], "properties": {"day": {"type": "string"}}}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_a_run_starts_with_its_input(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")], input_schema=SCHEMA)

    run = start_run(tenant.id, task.id, {"day": "2026-11-29"}, actor=ACTOR)

    row = Execution.objects.get(pk=run.id)
    assert (row.status, row.pool, row.trigger) == ("PENDING", "workflow", "manual")
    assert payload_of(row) == {"day": "2026-11-29"}


def test_an_input_that_the_schema_refuses_starts_nothing(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")], input_schema=SCHEMA)

    with pytest.raises(InvalidInput):
        start_run(tenant.id, task.id, {"day": 1}, actor=ACTOR)
    with pytest.raises(InvalidInput):
        start_run(tenant.id, task.id, None, actor=ACTOR)

    assert not Execution.objects.filter(task_id=task.id).exists()


@pytest.mark.parametrize("value", [None, [1, "two"]])
def test_without_a_schema_any_input_fits(tenant: Tenant, value: object):
    task = make_workflow(tenant, [calls("a")])

    assert start_run(tenant.id, task.id, value, actor=ACTOR).status == "PENDING"


def test_a_plain_task_and_a_workflow_of_another_tenant_are_not_found(tenant: Tenant):
    plain, other = make_task(tenant), make_workflow(make_tenant("Other"), [calls("a")])

    for task in (plain, other):
        with pytest.raises(NotFound):
            get_workflow(tenant.id, task.id)


def test_each_start_is_a_run_of_its_own(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])

    runs = {start_run(tenant.id, task.id, None, actor=ACTOR).id for _ in range(3)}

    assert len(runs) == 3
