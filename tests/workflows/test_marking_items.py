"""Items of a fan-out that have not begun are ended by hand, and the others go on."""

from __future__ import annotations

from uuid import UUID

import pytest

from executions.models import Execution
from insight.presentation.workflow_runs import present_run
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, run_step, why, work_on
from tests.support.workflows import begin_run, calls, go_on, make_workflow, payloads_of, status_of
from workflows.control import pause_run, resume_run, skip_step, succeed_step

pytestmark = pytest.mark.django_db
STEPS = [
    calls("load", for_each="{{ input }}", max_parallel=2),
    calls("sum", "load", payload="{{ steps.load.output }}"),
]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def run_id(tenant: Tenant) -> UUID:
    """Return a run of which two of five items have begun."""
    return begin_run(make_workflow(tenant, STEPS), [1, 2, 3, 4, 5])


def started(run_id: UUID) -> list[int]:
    found = Execution.objects.filter(run_id=run_id, step=1).order_by("item")
    return [item for item in found.values_list("item", flat=True) if item is not None]


def test_items_that_are_ended_by_hand_never_begin_and_count(tenant: Tenant, run_id: UUID):
    skip_step(tenant.id, run_id, "load", 2, actor=ACTOR)
    succeed_step(tenant.id, run_id, "load", {"n": 9}, 4, actor=ACTOR)

    work_on(run_id, lambda key, item: ("SUCCEEDED", {"n": item}))

    assert started(run_id) == [0, 1, 3]
    assert status_of(run_id) == "SUCCEEDED"
    [output] = payloads_of(run_id, 2)
    assert (output["succeeded"], output["failed"], output["skipped"]) == (4, 0, 1)
    assert output["outputs"] == [{"n": 0}, {"n": 1}, None, {"n": 3}, {"n": 9}]
    assert why(run_id, 1, 2) == ("SKIPPED", "skipped")
    assert why(run_id, 1, 4) == ("SUCCEEDED", "marked_succeeded")


def test_a_run_whose_other_items_are_all_ended_by_hand_goes_on(tenant: Tenant, run_id: UUID):
    for item in (2, 3, 4):
        skip_step(tenant.id, run_id, "load", item, actor=ACTOR)

    assert work_on(run_id) == ["load[0]", "load[1]", "sum"]
    assert status_of(run_id) == "SUCCEEDED"


def test_the_answer_counts_each_item_once(tenant: Tenant, run_id: UUID):
    skip_step(tenant.id, run_id, "load", 3, actor=ACTOR)

    [load, _] = present_run(tenant.id, run_id)["steps"]

    assert load["counts"] == {"QUEUED": 2, "PENDING": 2, "SKIPPED": 1}


def test_items_of_a_paused_run_are_ended_and_stay_so(tenant: Tenant, run_id: UUID):
    pause_run(tenant.id, run_id, actor=ACTOR)
    skip_step(tenant.id, run_id, "load", 2, actor=ACTOR)
    resume_run(tenant.id, run_id, actor=ACTOR)

    work_on(run_id)

    assert started(run_id) == [0, 1, 3, 4]


def test_an_item_that_has_begun_or_ended_is_refused(tenant: Tenant, run_id: UUID):
    end(claim(run_id)["load[0]"])
    go_on(run_id)
    skip_step(tenant.id, run_id, "load", 4, actor=ACTOR)

    for item, code in ((0, "step_ended"), (1, "still_running"), (4, "step_ended")):
        with pytest.raises(Conflict) as refused:
            skip_step(tenant.id, run_id, "load", item, actor=ACTOR)
        assert refused.value.code == code
    with pytest.raises(NotFound):
        skip_step(tenant.id, run_id, "load", 5, actor=ACTOR)


def test_a_step_without_items_or_that_has_not_begun_is_refused(tenant: Tenant):
    steps = [calls("a"), calls("load", "a", for_each=[1, 2])]
    run_id = begin_run(make_workflow(tenant, steps))

    with pytest.raises(InvalidInput) as wrong:
        skip_step(tenant.id, run_id, "a", 0, actor=ACTOR)
    with pytest.raises(Conflict) as refused:
        skip_step(tenant.id, run_id, "load", 0, actor=ACTOR)

    assert [error.pointer for error in wrong.value.errors] == ["#/item"]
    assert refused.value.code == "not_begun"


def test_an_item_of_an_ended_step_or_run_is_refused(tenant: Tenant):
    steps = [calls("load", for_each=[1]), calls("b", "load")]
    run_id = begin_run(make_workflow(tenant, steps))
    run_step(run_id, "load[0]", "FAILED")
    assert status_of(run_id) == "FAILED"

    with pytest.raises(Conflict) as refused:
        skip_step(tenant.id, run_id, "load", 0, actor=ACTOR)

    assert refused.value.code == "step_ended"
