"""``/v1/tasks/{id}/executions``, ``revisions``, ``rollback`` and ``clone``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.views import EXECUTION_FILTERS, list_executions
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.tasks.answers import OneTaskView, task_answer
from api.tasks.definition_serializers import TaskCloneSerializer, TaskSerializer
from api.tasks.of_workflows import refuse_workflow
from api.tasks.serializers import RevisionSerializer, RollbackBody, TaskExecutionsPage
from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.exceptions import FieldError, InvalidInput, NotFound
from shared.field_redaction import redacted
from shared.payload_sight import is_hidden
from tasks.cloning import clone_task
from tasks.definition import Definition, to_long
from tasks.models import Task, TaskRevision
from tasks.revisions import definition_of, own_revisions, read_definition, read_readable
from tasks.validation.bodies import StatusChange
from tasks.versions import FIRST_REDIRECTED


class TaskExecutionsView(PunctualView):
    """A task's executions."""

    query_parameters = {"GET": {**LIST_PARAMETERS, **EXECUTION_FILTERS}}

    @extend_schema(operation_id="list_task_executions", responses=TaskExecutionsPage)
    def get(self, request: Request, task_id: UUID) -> Response:
        """List a task's executions, newest first: of a workflow its runs, without their steps."""
        task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        rows = Execution.objects.for_tenant(self.tenant_id).of_task(task.id)
        return Response(list_executions(self.tenant_id, rows, self.query))


class TaskRevisionsView(OneTaskView):
    """A task's versions."""

    reads = "task"
    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_task_revisions", responses=list_answer("revisions", RevisionSerializer)
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """List a task's versions, newest first, each with who made it and its definition."""
        self.require(task_id)
        task: Task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        # A field that is named now is masked in every version.
        self.current = read_readable([task])[task.id].definition
        return Response(
            paginate(
                own_revisions(task),
                self.query,
                key="revisions",
                serialize=self.present,
                order=("-version",),
            )
        )

    def present(self, revision: TaskRevision) -> dict[str, Any]:
        """Return a version as answers show it."""
        return {
            "version": revision.version,
            "changed_by": revision.changed_by,
            "created_at": revision.created_at,
            "definition": _shown(definition_of(revision), self.current.redact),
        }


class RollbackTaskView(OneTaskView):
    """Bring an earlier version back."""

    reads = "task"
    reads_by = frozenset({"POST"})
    versioned = frozenset({"POST"})

    @extend_schema(operation_id="rollback_task", request=RollbackBody, responses=TaskSerializer)
    @idempotent(required=False)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Give a task the definition of an earlier version again, as a new version."""
        version: int = self.read_body(RollbackBody)["version"]
        self.require(task_id)
        task: Task = Task.objects.get_for_tenant(self.tenant_id, task_id)

        def edit(current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
            return _definition_at(task, version), None

        return self.answer(
            changing.edit_task(
                self.tenant_id,
                task_id,
                edit,
                actor=self.actor,
                expected_version=self.expected_version,
            )
        )


class CloneTaskView(PunctualView):
    """Make a copy of a task."""

    reads = "task"
    reads_by = frozenset({"POST"})

    @extend_schema(
        operation_id="clone_task", request=TaskCloneSerializer, responses={201: TaskSerializer}
    )
    @idempotent(required=True)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Create a task from the definition of another one; the body is merged into it as by PATCH.

        The clone keeps secrets as an edit does: 400 `secret_required` where the target moves and
        a secret is not written anew. It has no history, fires on its own from now on, and is not
        paused unless a standing pause covers it. The clone of a one-time task whose time has
        passed needs `run_at` or `delay_seconds` (400 `in_the_past`). 409 `is_workflow` for a
        workflow.
        """
        refuse_workflow(self.tenant_id, task_id)
        task, definition = clone_task(
            self.tenant_id, task_id, request.data, actor=self.actor, now=database_now()
        )
        return task_answer(task, definition, status=201)


def _shown(definition: Definition, masked: Sequence[str]) -> dict[str, Any]:
    shown = to_long(definition)
    return {**shown, "payload": redacted(shown["payload"], () if is_hidden() else masked)}


def _definition_at(task: Task, version: int) -> Definition:
    try:
        if version >= FIRST_REDIRECTED:
            # Not the task's own: of a replay into another place, or of a workflow's step.
            raise NotFound
        return read_definition(task, version)
    except NotFound as unknown:
        message = f"The task has no version {version}."
        raise InvalidInput([FieldError("#/version", "unknown_version", message)]) from unknown
