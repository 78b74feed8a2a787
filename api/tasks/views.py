"""``/v1/tasks`` and ``/v1/tasks/{id}``: create, list, show, edit, replace, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import freeze, idempotent
from api.idempotency_groups import Outcome, Together, idempotent_together
from api.list_files import FILES, FORMAT, file_answer
from api.protocol.lists import filter_text, ordering
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice, choices, text
from api.protocol.schema import list_or_file
from api.protocol.views import PunctualView
from api.tasks.answers import OneTaskView, present_latest, present_tasks, task_answer
from api.tasks.definition_serializers import (
    TaskCreateSerializer,
    TaskEditSerializer,
    TaskSerializer,
)
from api.tasks.of_workflows import refuse_definition
from api.tasks.serializers import TaskDetailSerializer
from api.tasks.verb_views import require_key_to_resume
from executions.changes import changing
from executions.loop.clocks import database_now
from insight.filter_language.conditions import Scope, tasks_matching
from insight.filter_language.fields import TASKS
from insight.list_budget import TASKS_ADVICE, read_list
from insight.list_orders import TASK_ORDERS, in_order, is_plain
from shared.sql import Asked, Done
from tasks import bulk, standing_pauses
from tasks.budgets.keeping import present_use
from tasks.calendars import limits_of
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition
from tasks.limits import (
    DESTINATION_LENGTH,
    LABEL_KEY_LENGTH,
    LABEL_VALUE_LENGTH,
    OWNER_LENGTH,
)
from tasks.models import Task
from tasks.validation.bodies import StatusChange, parse_patch, parse_replace

#: The filters of lists of tasks.
TASK_FILTERS = {
    "status": choices(*TaskStatus.values, description="One or more states."),
    "type": choice(*TaskType.values, description="Of this type."),
    "label": text(
        "`key:value`, or a key that must be there.",
        max_length=LABEL_KEY_LENGTH + 1 + LABEL_VALUE_LENGTH,
    ),
    "owner": text("Of exactly this owner.", max_length=OWNER_LENGTH),
    "destination": text(
        "Whose webhook calls this host, `host` or `host:port` in any spelling.",
        max_length=DESTINATION_LENGTH,
    ),
    "q": text("In the name or the labels."),
    "filter": filter_text(TASKS),
    "ordering": ordering(TASK_ORDERS, default="-created_at"),
}


def _ask(tenant_id: UUID) -> list[Asked]:
    # From here on no pause begins and no calendar is deleted until the tasks are stored.
    return [standing_pauses.sharing_from_now(tenant_id)]


def _create(views: Sequence[TasksView], done: Sequence[Done]) -> list[Outcome]:
    """Create a task for each call of a tenant."""
    first, [(now,)] = views[0], done[0].rows
    call = bulk.Call(first.tenant_id, first.actor, now, limits_of(first.tenant_id))
    asked = [
        (replace(call, actor=view.actor, show=partial(_show, view)), view.request.data)
        for view in views
    ]
    return [
        result.shown if isinstance(result, bulk.Created) else result
        for result in bulk.create_for_each(asked)
    ]


def _show(view: TasksView, task: Task, definition: Definition) -> HttpResponse:
    return freeze(view.as_seen(task_answer(task, definition, status=201)))


_CREATION = Together(_ask, _create)


class TasksView(PunctualView):
    """The tenant's tasks."""

    reads = "task"
    files_as = FILES
    query_parameters = {"GET": {**LIST_PARAMETERS, **TASK_FILTERS, "format": FORMAT}}

    @extend_schema(operation_id="list_tasks", responses=list_or_file("tasks", TaskSerializer))
    def get(self, request: Request) -> HttpResponseBase:
        """List tasks, newest first; also as CSV or JSON lines."""
        query, format_ = self.query, self.file_format
        order = TASK_ORDERS[query["ordering"]]

        def read() -> Any:
            found = Task.objects.for_tenant(self.tenant_id).filtered(query)
            if query["filter"] is not None:
                scope = Scope(self.tenant_id, database_now())
                found = tasks_matching(found, query["filter"], scope)
            found = in_order(found, order)
            if format_ is not None:
                plain = request._request
                return file_answer(plain, "tasks", found, query, format_=format_, order=order)
            return paginate(found, query, key="tasks", serialize=lambda row: row, order=order)

        is_indexed = is_plain(query["filter"], query["ordering"])
        page = read_list(read, advice=TASKS_ADVICE, unlimited=is_indexed)
        if isinstance(page, HttpResponse):
            return page
        return Response({**page, "tasks": present_tasks(page["tasks"])})

    @extend_schema(
        operation_id="create_task", request=TaskCreateSerializer, responses={201: TaskSerializer}
    )
    @idempotent_together(_CREATION)
    def post(self, request: Request) -> HttpResponse:
        """Create a task from the long or the short form."""
        return _CREATION.run_alone(self)


class TaskView(OneTaskView):
    """One task."""

    reads = "task"
    versioned = frozenset({"DELETE", "PATCH", "PUT"})
    query_parameters = {
        "DELETE": {"cancel_running": boolean("Also abort what runs.", default=False)}
    }

    @extend_schema(operation_id="get_task", responses=TaskDetailSerializer)
    def get(self, request: Request, task_id: UUID) -> Response:
        """Show a task with its latest ten executions."""
        task: Task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        latest = present_latest(task, database_now())
        return task_answer(task, executions=latest, budget_use=present_use(task))

    @extend_schema(operation_id="edit_task", request=TaskEditSerializer, responses=TaskSerializer)
    @idempotent(required=False)
    def patch(self, request: Request, task_id: UUID) -> Response:
        """Merge an edit into a task (RFC 7396), or pause or resume it by its `status`.

        From the answer on no occurrence of the old definition starts. `status` also needs the scope
        `operate`. To resume a pause with `on_resume` `run_once` or `replay`, send an
        `Idempotency-Key`. 409 `is_workflow` for a workflow, of which only `status` changes here.
        """
        self.require(task_id)
        if isinstance(request.data, dict) and "status" in request.data:
            self.require_scope("operate", "Pausing and resuming a task")
            if request.data["status"] == StatusChange.RESUME:
                require_key_to_resume(request, Task.objects.get_for_tenant(self.tenant_id, task_id))

        return self._edited(task_id, self.merged)

    @extend_schema(
        operation_id="replace_task", request=TaskCreateSerializer, responses=TaskSerializer
    )
    @idempotent(required=False)
    def put(self, request: Request, task_id: UUID) -> Response:
        """Replace a task's definition; what is left out takes its default.

        409 `is_workflow` for a workflow.
        """
        self.require(task_id)
        return self._edited(task_id, self.replaced)

    @extend_schema(operation_id="delete_task", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, task_id: UUID) -> Response:
        """Delete a task: no further fires; its executions stay readable.

        `cancel_running` also needs the scope `operate`.
        """
        self.require(task_id)
        if self.query["cancel_running"]:
            self.require_scope("operate", "Cancelling what runs")
        changing.delete_task(
            self.tenant_id,
            task_id,
            actor=self.actor,
            cancel_running=self.query["cancel_running"],
            expected_version=self.expected_version,
        )
        return Response(status=204)

    def merged(self, current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        """Return the definition with the body merged in, and whether to pause or resume."""
        body, limits = self.request.data, limits_of(self.tenant_id)
        if not isinstance(body, dict) or body.keys() - {"status"}:
            refuse_definition(current, self.kwargs["task_id"])
        return parse_patch(current, body, now=now, limits=limits)

    def replaced(
        self, current: Definition, now: datetime
    ) -> tuple[Definition, StatusChange | None]:
        """Return the definition that the body puts in place of the current one."""
        refuse_definition(current, self.kwargs["task_id"])
        body, limits = self.request.data, limits_of(self.tenant_id)
        return parse_replace(body, now=now, limits=limits, current=current), None

    def _edited(self, task_id: UUID, edit: changing.Edit) -> Response:
        task = changing.edit_task(
            self.tenant_id,
            task_id,
            edit,
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return self.answer(task)
