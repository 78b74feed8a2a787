"""How the views of workflows answer, and how they find their task: it must be a workflow."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from api.tasks.answers import OneTaskView
from insight.presentation.workflow_runs import present_run
from insight.presentation.workflows import present_workflow
from tasks.definition import Definition
from tasks.models import Task
from workflows.launching import get_workflow


class OneWorkflowView(OneTaskView):
    """A view of one workflow; before the view of a task, it makes that view one of workflows."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; handlers of tasks call the id of the path by their own name."""
        kwargs["task_id"] = kwargs.pop("workflow_id")
        return super().dispatch(request, *args, **kwargs)

    def require(self, task_id: UUID) -> None:
        """Raise NotFound where the task is no workflow."""
        get_workflow(self.tenant_id, task_id)

    def answer(self, task: Task) -> Response:
        """Return the answer that shows the workflow."""
        return workflow_answer(task)


_View = TypeVar("_View", bound=type[OneWorkflowView])


def for_workflows(
    method: str, operation_id: str, text: str, **schema: Any
) -> Callable[[_View], _View]:
    """Give the handler that a view has from that of a task an operation and a text of its own."""

    def describe(view: _View) -> _View:
        handler = getattr(view, method)

        @wraps(handler)
        def own(self: OneWorkflowView, *args: Any, **kwargs: Any) -> Any:
            return handler(self, *args, **kwargs)

        own.__doc__ = text
        # Where extend_schema notes what it is told: not in that of the task's handler.
        own.kwargs = dict(handler.kwargs)  # type: ignore[attr-defined]  # of drf-spectacular
        setattr(view, method, extend_schema(operation_id=operation_id, **schema)(own))
        return view

    return describe


def workflow_answer(
    task: Task, definition: Definition | None = None, *, status: int = 200
) -> Response:
    """Return the answer that shows a workflow: its version is the ``ETag``."""
    headers = {"ETag": f'"{task.version}"'}
    if status == 201:
        headers["Location"] = f"/v1/workflows/{task.id}"
    return Response(present_workflow(task, definition), status=status, headers=headers)


def run_accepted(tenant_id: UUID, run_id: UUID) -> Response:
    """Return 202 with a run as it is now, and its location."""
    location = {"Location": f"/v1/workflow-runs/{run_id}"}
    return Response(present_run(tenant_id, run_id), status=202, headers=location)
