from __future__ import annotations

import pytest
from drf_spectacular.generators import SchemaGenerator

from api.tasks.verb_views import PauseTaskView
from api.workflows.answers import OneWorkflowView, for_workflows, run_accepted, workflow_answer
from shared.exceptions import NotFound
from tests.factories import make_task
from tests.support.workflows import begin_run, calls, make_workflow


@for_workflows("post", "stop_workflow", "Stop it.")
class _View(OneWorkflowView, PauseTaskView):
    """A verb of tasks, for workflows."""


def test_a_view_of_workflows_has_an_operation_of_its_own_and_leaves_that_of_tasks_alone():
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]

    assert _View.post.__doc__ == "Stop it."
    assert vars(_View.post)["idempotency_required"] is False
    assert paths["/v1/tasks/{task_id}/pause"]["post"]["operationId"] == "pause_task"
    assert paths["/v1/workflows/{workflow_id}/pause"]["post"]["operationId"] == "pause_workflow"


def test_a_new_workflow_is_answered_with_its_place(alpha):
    task = make_workflow(alpha, [calls("a")])

    answer = workflow_answer(task, status=201)

    assert answer["Location"] == f"/v1/workflows/{task.id}"
    assert answer["ETag"] == '"1"'


def test_a_run_is_accepted_with_its_place(alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))

    answer = run_accepted(alpha.id, run)

    assert answer.status_code == 202
    assert answer["Location"] == f"/v1/workflow-runs/{run}"


def test_a_run_of_another_tenant_is_not_answered(alpha, beta):
    run = begin_run(make_workflow(alpha, [calls("a")]))

    with pytest.raises(NotFound):
        run_accepted(beta.id, run)
    assert make_task(alpha).id != run
