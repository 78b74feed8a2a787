"""Templates of a run's steps read its input, the ends before, and what the run itself is."""

from __future__ import annotations

from typing import Any

import pytest

from shared.encryption import DecryptionFailed
from tasks.workflow.references import parse_reference
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.workflow_steps import claim, end, run_step
from tests.support.workflows import begin_run, calls, go_on, make_workflow, payloads_of
from workflows.advance import reading
from workflows.advance.run import Run
from workflows.advance.stage import open_run

pytestmark = pytest.mark.django_db
STEPS = [calls("a"), calls("b"), calls("c", "a", "b", payload="{{ steps.a.output.n }}")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def opened(run_id) -> Run:
    [row] = reading.lock([run_id])
    return open_run(row)


def test_outputs_and_statuses_are_those_of_steps_that_have_ended(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, STEPS), {"day": 1})
    run_step(run_id, "a", result={"n": 7})

    scope = opened(run_id).known.scope()

    assert dict(scope.outputs) == {"a": {"n": 7}}
    assert len(scope.outputs) == 1
    assert scope.statuses == {"a": "SUCCEEDED"}
    assert scope.input == {"day": 1}


def test_the_run_tells_its_id_and_its_time(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, STEPS))

    run = opened(run_id)

    said = run.known.scope().run
    assert said["id"] == str(run_id)
    assert said["scheduled_for"].endswith("Z")


def test_an_item_has_its_place_and_a_step_has_none(tenant: Tenant):
    run = opened(begin_run(make_workflow(tenant, STEPS)))

    item = run.known.scope({"file": "x"}, 3)

    assert item.value_of(parse_reference("item.file")) == "x"
    assert item.value_of(parse_reference("index")) == 3
    assert not run.known.scope().has(parse_reference("item"))


def test_an_output_that_no_key_opens_is_told_only_to_who_reads_it(tenant: Tenant):
    run = opened(begin_run(make_workflow(tenant, STEPS)))
    run.states[1] = 2
    outputs: Any = run.known.scope().outputs
    outputs._sealed[1] = b"\x01"

    scope = run.known.scope()

    assert scope.statuses == {"a": "SUCCEEDED"}
    with pytest.raises(DecryptionFailed):
        scope.value_of(parse_reference("steps.a.output"))


def test_an_output_that_was_just_learned_needs_no_database(tenant: Tenant):
    run = opened(begin_run(make_workflow(tenant, STEPS)))

    run.known.learn(1, {"n": 1})

    assert run.known.scope().outputs["a"] == {"n": 1}


def test_outputs_of_items_are_in_their_order_and_null_where_one_has_failed(tenant: Tenant):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", min_success_share=0.5),
        calls("sum", "load", payload="{{ steps.load.output }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    run_step(run_id, "list", result=["x", "y", "z"])
    items = claim(run_id)

    end(items["load[2]"], result="third")
    go_on(run_id)
    end(items["load[0]"], result="first")
    end(items["load[1]"], "FAILED")
    go_on(run_id)

    counts = {"succeeded": 2, "failed": 1, "skipped": 0}
    assert payloads_of(run_id, 3) == [{**counts, "outputs": ["first", None, "third"]}]
