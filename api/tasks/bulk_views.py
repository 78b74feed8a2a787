"""``POST /v1/tasks/bulk``: up to 10,000 definitions in one call."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from orjson import Fragment
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.problems import log_unexpected, problem_of
from api.protocol.renderers import dump_json
from api.protocol.views import PunctualView
from api.tasks.serializers import BulkAnswer, BulkBody, BulkCreateSerializer
from executions.loop.clocks import database_now
from insight.presentation.tasks import (
    next_execution,
    paused_by,
    standing_pauses_of,
    upcoming,
)
from tasks import bulk
from tasks.calendars import limits_of
from tasks.definition import Definition
from tasks.models import Task
from tasks.presentation import present_task


class BulkCreateView(PunctualView):
    """Create many tasks."""

    receipt = frozenset({"results", "created", "failed"})
    max_body_bytes = 16 * 1024 * 1024

    @extend_schema(operation_id="create_tasks", request=BulkCreateSerializer, responses=BulkAnswer)
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Create many tasks, each with its own result; with `atomic` all or nothing (400)."""
        wanted = self.read_body(BulkBody)
        limits = limits_of(self.tenant_id)
        call = bulk.Call(self.tenant_id, self.actor, database_now(), limits, self._show)
        create = bulk.create_all if wanted["atomic"] else bulk.create_each
        results = [
            self._result(index, result)
            for index, result in enumerate(create(wanted["tasks"], call))
        ]
        created = sum(isinstance(result, Fragment) for result in results)
        return Response({"results": results, "created": created, "failed": len(results) - created})

    def _result(self, index: int, result: bulk.Result) -> Fragment | dict[str, Any]:
        if isinstance(result, bulk.Created):
            return Fragment(dump_json({"index": index, "status": 201, "task": result.shown}))
        problem = problem_of(result)
        log_unexpected(result, problem, self.request)
        return {"index": index, "status": problem.status, "problem": problem.body(self.request)}

    def _show(self, task: Task, definition: Definition) -> Fragment:
        extra = paused_by(task, standing_pauses_of([task]))
        if task.schedule.get("jitter_seconds"):
            extra |= next_execution(task, upcoming([task]))
        shown = present_task(task, definition, extra=extra)
        if not self.may_see:
            shown = {name: shown[name] for name in PunctualView.receipt}
        # Written at once: ten thousand tasks in memory cost more to keep than to write.
        return Fragment(dump_json(shown))
