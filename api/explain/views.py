"""``/v1/executions/{id}/explain`` and ``/v1/tasks/{id}/explain``: why it ran, or did not."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.explain.serializers import ExplanationSerializer
from api.protocol.query import instant
from api.protocol.views import PunctualView
from api.tasks.answers import OneTaskView
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.answer import present_explanation
from insight.explain.explanation import explain_execution, explain_task
from tasks.models import Task


class ExplainExecutionView(PunctualView):
    """Why an execution ran, did not run or waits."""

    @extend_schema(operation_id="explain_execution", responses=ExplanationSerializer)
    def get(self, request: Request, execution_id: UUID) -> Response:
        """Explain an execution: every check in order, with evidence and what can be done."""
        execution = Execution.objects.get_for_tenant(self.tenant_id, execution_id)
        return Response(present_explanation(explain_execution(execution, database_now())))


class ExplainTaskView(OneTaskView):
    """Why an instant of a task ran, did not run, or what it waits for."""

    query_parameters = {
        "GET": {
            "at": instant(
                "The instant, past or future; the nearest expected one of its minute is explained. "
                "Left out: the execution that has waited longest, else the next instant."
            )
        }
    }

    @extend_schema(operation_id="explain_task", responses=ExplanationSerializer)
    def get(self, request: Request, task_id: UUID) -> Response:
        """Explain an instant of a task: every check in order, with evidence and what can be done.

        Works for instants that ran, that wait, that lie ahead, and that were never expected.
        """
        self.require(task_id)
        task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        found = explain_task(task, self.query["at"], database_now())
        return Response(present_explanation(found))
