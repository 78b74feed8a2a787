"""``/v1/tasks/{id}/pause``, ``resume``, ``cancel`` and ``run``; they need the scope ``operate``."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import EmptyBody, ExecutionSerializer
from api.executions.views import accepted, override_of
from api.idempotency import idempotent, require_key
from api.tasks.answers import OneTaskView
from api.tasks.definition_serializers import TaskSerializer
from api.tasks.of_workflows import refuse_workflow
from api.tasks.serializers import PauseBody, RunBody
from executions.changes import changing
from executions.loop.clocks import database_now
from executions.triggering.triggers import run_task
from shared.exceptions import FieldError, InvalidInput
from tasks.choices import OnResume, TaskStatus
from tasks.models import Task
from tasks.transitions import Pause


class PauseTaskView(OneTaskView):
    """Pause a task."""

    reads = "task"
    reads_by = frozenset({"POST"})
    scopes = {"POST": "operate"}

    @extend_schema(operation_id="pause_task", request=PauseBody, responses=TaskSerializer)
    @idempotent(required=False)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Pause: no execution of the task starts until it resumes; running ones continue.

        409 when the task has ended.
        """
        pause = Pause(**self.read_body(PauseBody))
        self.require(task_id)
        _refuse_past(pause.until)
        return self.answer(changing.pause_task(self.tenant_id, task_id, pause, actor=self.actor))


class ResumeTaskView(OneTaskView):
    """Resume a task."""

    reads = "task"
    reads_by = frozenset({"POST"})
    scopes = {"POST": "operate"}

    @extend_schema(operation_id="resume_task", request=EmptyBody, responses=TaskSerializer)
    @idempotent(required=False)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Resume; `on_resume` of the pause decides how the instants within it run.

        `Idempotency-Key` is required where that is `run_once` or `replay`: both make executions.
        """
        self.read_body(EmptyBody)
        self.require(task_id)
        require_key_to_resume(request, Task.objects.get_for_tenant(self.tenant_id, task_id))
        return self.answer(changing.resume_task(self.tenant_id, task_id, actor=self.actor))


class CancelTaskView(OneTaskView):
    """Cancel a task."""

    reads = "task"
    reads_by = frozenset({"POST"})
    scopes = {"POST": "operate"}

    @extend_schema(operation_id="cancel_task", request=EmptyBody, responses=TaskSerializer)
    @idempotent(required=False)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Stop future fires and cancel unstarted executions; running ones continue.

        409 when the task has ended by itself.
        """
        self.read_body(EmptyBody)
        self.require(task_id)
        return self.answer(changing.cancel_task(self.tenant_id, task_id, actor=self.actor))


class RunTaskView(OneTaskView):
    """Run a task now."""

    scopes = {"POST": "operate"}

    @extend_schema(operation_id="run_task", request=RunBody, responses={202: ExecutionSerializer})
    @idempotent(required=True)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Run a task now, beside its schedule, also while it is paused.

        409 `is_workflow` for a workflow with a payload: its runs take an input.
        """
        override = override_of(self.read_body(RunBody))
        if override is not None:
            refuse_workflow(self.tenant_id, task_id, "/runs")
        return accepted(run_task(self.tenant_id, task_id, override, actor=self.actor))


def require_key_to_resume(request: Request, task: Task) -> None:
    """Raise InvalidInput where resuming makes executions and the call has no Idempotency-Key."""
    if task.status == TaskStatus.PAUSED and task.on_resume != OnResume.SKIP:
        require_key(request, f"Resuming makes executions: on_resume is {task.on_resume}.")


def _refuse_past(until: datetime | None) -> None:
    if until is not None and until <= database_now():
        message = "A pause cannot end in the past."
        raise InvalidInput([FieldError("#/until", "in_the_past", message)])
