"""The plan of a version says what each step does; it never changes."""

from __future__ import annotations

import pytest

from shared.encryption import DecryptionFailed
from tasks.models import TaskRevision
from tasks.versions import step_version
from tenants.models import Tenant
from tests.factories import make_tenant, spoil
from tests.support.workflows import calls, make_workflow
from workflows.plan import plan_of, references_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_a_plan_has_each_step_by_its_number(tenant: Tenant):
    task = make_workflow(tenant, [calls("b"), calls("a", "b")])

    plan = plan_of(task.id, 1)

    assert plan.keys == {1: "b", 2: "a"}
    assert plan.size == 3
    assert plan.graph.steps[2].depends_on == (1,)


def test_a_call_says_how_the_ledger_treats_a_step(tenant: Tenant):
    own = {"retry_policy": {"max_attempts": 4}, "priority": 7, "timeout_seconds": 7}
    task = make_workflow(tenant, [calls("a", **own), {"key": "b", "kind": "approval"}])

    plan = plan_of(task.id, 1)

    call = plan.calls[1]
    assert (call.max_attempts, call.priority, call.timeout_seconds) == (4, 7, 7)
    assert (call.revision, call.pool) == (step_version(1, 1), "default")
    assert call.destination == "api.example.com"
    assert 2 not in plan.calls


def test_a_step_has_no_better_priority_than_its_workflow(tenant: Tenant):
    task = make_workflow(tenant, [calls("a", priority=0), calls("b", priority=9)], priority=3)

    plan = plan_of(task.id, 1)

    assert [plan.calls[number].priority for number in (1, 2)] == [3, 9]


def test_only_outputs_that_something_names_are_kept(tenant: Tenant):
    steps = [
        calls("named"),
        calls("asked"),
        calls("status"),
        calls(
            "last",
            "named",
            "asked",
            "status",
            payload="{{ steps.named.output.id }}",
            when="steps.asked.output.go == true && steps.status.status == 'SUCCEEDED'",
        ),
    ]

    plan = plan_of(make_workflow(tenant, steps).id, 1)

    assert plan.named == {1, 2}


def test_references_are_those_of_templates_and_of_the_expression(tenant: Tenant):
    steps = [calls("a"), calls("b", "a", payload={"x": "{{ input.day }}"}, when="input.on == true")]
    plan = plan_of(make_workflow(tenant, steps).id, 1)

    assert {one.path for one in references_of(plan.steps[2])} == {("day",), ("on",)}
    assert references_of(plan.steps[1]) == set()


@pytest.mark.parametrize(("policy", "fast"), [("fail_fast", True), ("continue", False)])
def test_a_plan_knows_whether_the_first_failure_ends_it(tenant: Tenant, policy: str, fast: bool):
    task = make_workflow(tenant, [calls("a")], on_failure=policy)

    assert plan_of(task.id, 1).fail_fast is fast


def test_a_definition_that_no_key_opens_has_no_plan(tenant: Tenant):
    task = spoil(make_workflow(tenant, [calls("a", payload={"n": 1})]))

    with pytest.raises(DecryptionFailed):
        plan_of(task.id, 1)


def test_a_version_that_does_not_exist_has_no_plan(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])

    with pytest.raises(TaskRevision.DoesNotExist):
        plan_of(task.id, 2)
