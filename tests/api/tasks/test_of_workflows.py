from __future__ import annotations

import pytest

from api.tasks.of_workflows import refuse_definition, refuse_workflow
from shared.exceptions import Conflict, NotFound
from tasks.revisions import read_definition
from tests.factories import make_task
from tests.support.workflows import calls, make_workflow


def test_a_workflow_is_refused_with_the_call_to_make_instead(alpha):
    task = make_workflow(alpha, [calls("a")])

    with pytest.raises(Conflict) as refused:
        refuse_workflow(alpha.id, task.id, "/runs")

    assert refused.value.code == "is_workflow"
    assert f"/v1/workflows/{task.id}/runs" in refused.value.message


def test_the_definition_of_a_workflow_is_refused(alpha):
    task = make_workflow(alpha, [calls("a")])

    with pytest.raises(Conflict):
        refuse_definition(read_definition(task), task.id)


def test_a_plain_task_is_not_refused(alpha, beta):
    task = make_task(alpha)

    refuse_workflow(alpha.id, task.id)
    refuse_definition(read_definition(task), task.id)
    with pytest.raises(NotFound):
        refuse_workflow(beta.id, task.id)
