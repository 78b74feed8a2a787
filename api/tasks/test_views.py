"""``/v1/tasks/test`` and ``/v1/tasks/{id}/test``: one real delivery, marked as a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import EmptyBody
from api.idempotency import idempotent_outside
from api.protocol.query import Parameter, choice
from api.protocol.views import PunctualView
from api.stats.serializers import DeliveryTestAnswer
from api.tasks.definition_serializers import TaskCreateSerializer
from executions.triggering.receiver_target import DEFAULT_PATH, PATH_LENGTH, read_path
from executions.triggering.test_delivery import send_test, send_test_of_task
from insight.presentation.statistics import present_test
from shared.exceptions import FieldError, InvalidInput

_QUERY = {
    "to": choice(
        "target",
        "receiver",
        description="Where it goes: to its URL, or to your address at the built-in receiver, "
        "without the secrets of the target.",
        default="target",
    ),
    "path": Parameter(
        read_path,
        {"type": "string", "maxLength": PATH_LENGTH, "pattern": "^/"},
        "The receiver's behaviour, such as `/status/503`; `/ok` unless given. Only with "
        "`to=receiver`.",
    ),
}
_PROBLEMS = {404: "No such task, or no test receiver runs here (`no_receiver`)."}


class TestDefinitionView(PunctualView):
    """Test a definition."""

    receipt = frozenset({"outcome", "would_retry", "timings"})
    problems = _PROBLEMS
    query_parameters = {"POST": _QUERY}

    @extend_schema(
        operation_id="test_definition",
        request=TaskCreateSerializer,
        responses=DeliveryTestAnswer,
    )
    @idempotent_outside
    def post(self, request: Request) -> Response:
        """Send the request of a task of this body once, now, signed; no task is made.

        The request carries `X-Scheduler-Test: true`; the receiver has ten seconds at most. 429
        while several tests are under way. `to=receiver` sends it to your own address at the
        built-in receiver instead, and the answer shows the request as it arrived.
        """
        path = _receiver_path(self.query)
        result = send_test(self.tenant_id, request.data, actor=self.actor, receiver_path=path)
        return Response(present_test(result))


class TestTaskView(PunctualView):
    """Test a task."""

    reads = "task"
    reads_by = frozenset({"POST"})
    receipt = frozenset({"outcome", "would_retry", "timings"})
    problems = _PROBLEMS
    query_parameters = {"POST": _QUERY}

    @extend_schema(operation_id="test_task", request=EmptyBody, responses=DeliveryTestAnswer)
    @idempotent_outside
    def post(self, request: Request, task_id: UUID) -> Response:
        """Send the task's request once, now, signed; the task's history does not show it.

        `to=receiver` sends it to your own address at the built-in receiver instead, and the answer
        shows the request as it arrived.
        """
        self.read_body(EmptyBody)
        path = _receiver_path(self.query)
        result = send_test_of_task(self.tenant_id, task_id, actor=self.actor, receiver_path=path)
        return Response(present_test(result))


def _receiver_path(query: Mapping[str, Any]) -> str | None:
    """Return the path at the receiver that the test calls; None for the target itself."""
    path: str | None = query["path"]
    if query["to"] == "receiver":
        return path or DEFAULT_PATH
    if path is not None:
        message = "A path needs to=receiver; a target says its own."
        raise InvalidInput([FieldError("?path", "conflict", message)], message)
    return None
