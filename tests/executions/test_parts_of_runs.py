from __future__ import annotations

import pytest

from executions.models import Execution
from executions.parts_of_runs import CODE, refuse_part, refuse_step
from shared.exceptions import Conflict
from shared.ids import new_id
from tasks.versions import step_version

RUN, TAKE = new_id(), new_id()
STEP = Execution(id=new_id(), revision=step_version(1, 1), pool="default", run_id=RUN, step=1)
FIRST = Execution(id=RUN, revision=1, pool="workflow")
LATER = Execution(id=TAKE, revision=1, pool="workflow", run_id=RUN, take=2)
CHILD = Execution(id=TAKE, revision=1, pool="workflow", run_id=RUN, step=1, take=1)
PLAIN = Execution(id=new_id(), revision=1, pool="default")


def refused(rule, execution):
    with pytest.raises(Conflict) as refusal:
        rule(execution)
    assert refusal.value.code == CODE
    return refusal.value.message


def test_a_step_is_cancelled_with_its_run():
    assert f"POST /v1/workflow-runs/{RUN}/cancel" in refused(refuse_step, STEP)


@pytest.mark.parametrize("execution", [FIRST, LATER, CHILD, PLAIN])
def test_what_is_no_step_can_be_cancelled_by_itself(execution):
    refuse_step(execution)


@pytest.mark.parametrize(
    ("execution", "run"), [(STEP, RUN), (FIRST, RUN), (LATER, RUN), (CHILD, TAKE)]
)
def test_a_step_and_a_take_are_retried_as_their_run(execution, run):
    assert f"POST /v1/workflow-runs/{run}/retry" in refused(refuse_part, execution)


def test_an_execution_of_a_plain_task_can_be_retried_by_itself():
    refuse_part(PLAIN)
