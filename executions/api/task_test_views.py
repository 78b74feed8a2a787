"""``/v1/tasks/test`` and ``/v1/tasks/{id}/test``: one real delivery, marked as a test."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from executions.api.serializers import EmptyBody
from executions.api.stats_serializers import DeliveryTestAnswer
from executions.presentation_stats import present_test
from executions.services.test_delivery import send_test, send_test_of_task
from shared.api.views import PunctualView
from tasks.api.serializers import TaskCreateSerializer
from tenants.idempotency import idempotent_outside


class TestDefinitionView(PunctualView):
    """Test a definition."""

    receipt = frozenset({"outcome", "would_retry", "timings"})

    @extend_schema(
        operation_id="test_definition",
        request=TaskCreateSerializer,
        responses=DeliveryTestAnswer,
    )
    @idempotent_outside
    def post(self, request: Request) -> Response:
        """Send what a task of this body would send, once, now, signed; no task is made.

        The request carries `X-Scheduler-Test: true`; the receiver has ten seconds at most. 429
        while several tests are under way.
        """
        return Response(present_test(send_test(self.tenant_id, request.data, actor=self.actor)))


class TestTaskView(PunctualView):
    """Test a task."""

    receipt = frozenset({"outcome", "would_retry", "timings"})

    @extend_schema(operation_id="test_task", request=EmptyBody, responses=DeliveryTestAnswer)
    @idempotent_outside
    def post(self, request: Request, task_id: UUID) -> Response:
        """Send what the task sends, once, now, signed; nothing of it is in the task's history."""
        self.read_body(EmptyBody)
        result = send_test_of_task(self.tenant_id, task_id, actor=self.actor)
        return Response(present_test(result))
