"""What people do to runs: cancel, retry, pause, resume, and decide about steps; needs ``operate``.

Each answers 202 with the run as it is when the change is stored.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import EmptyBody
from api.idempotency import idempotent
from api.protocol.views import PunctualView
from api.workflows.answers import run_accepted
from api.workflows.serializers import (
    ApproveStepBody,
    CancelRunBody,
    RetryRunBody,
    RunSerializer,
    SkipStepBody,
    SucceedStepBody,
)
from executions.triggering.triggers import Override
from workflows import control
from workflows.retry_requests import request_retry
from workflows.retrying import Retry

_ANSWERED = {202: RunSerializer}


class _ControlView(PunctualView):
    """A view that changes a run."""

    reads = "run"
    reads_by = frozenset({"POST"})
    scopes = {"POST": "operate"}

    def accepted(self, run_id: UUID) -> Response:
        """Return 202 with the run."""
        return run_accepted(self.tenant_id, run_id)


class CancelRunView(_ControlView):
    """Cancel a run."""

    @extend_schema(operation_id="cancel_workflow_run", request=CancelRunBody, responses=_ANSWERED)
    @idempotent(required=False)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Cancel a run, or a part of it: no further step begins, steps that run are aborted.

        409 `already_final` when it has ended, `not_begun` for a part of one that has not begun.
        """
        body = self.read_body(CancelRunBody)
        scope = control.Scope(body["scope"], body.get("key", ""))
        control.cancel_run(self.tenant_id, run_id, scope, actor=self.actor)
        return self.accepted(run_id)


class RetryRunView(_ControlView):
    """Run what has failed of a run again."""

    @extend_schema(operation_id="retry_workflow_run", request=RetryRunBody, responses=_ANSWERED)
    @idempotent(required=True)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Run the steps of an ended run that have failed again, as the next take of the same run.

        Steps that have succeeded keep their output. With `from` a step's key, that step and all
        behind it run again. 409 `still_running` for an open run; with `cancel_running` it is
        cancelled, and the take begins when what runs has ended. 409 `nothing_to_retry`;
        `version_differs` where steps of the latest version before the retried ones have not run.
        """
        body = self.read_body(RetryRunBody)
        retry = Retry(
            key=None if body["from"] == "failed" else body["from"],
            latest=body["version"] == "latest",
            override=Override(body["input"]) if "input" in body else None,
            cancel_running=body["cancel_running"],
        )
        request_retry(self.tenant_id, run_id, retry, actor=self.actor)
        return self.accepted(run_id)


class PauseRunView(_ControlView):
    """Pause a run."""

    @extend_schema(operation_id="pause_workflow_run", request=EmptyBody, responses=_ANSWERED)
    @idempotent(required=False)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Pause a run: no further step begins or is undone.

        What runs continues, and so do child runs that have begun. Deadlines still apply.
        409 for a run that has not begun, has ended, or is being cancelled.
        """
        self.read_body(EmptyBody)
        control.pause_run(self.tenant_id, run_id, actor=self.actor)
        return self.accepted(run_id)


class ResumeRunView(_ControlView):
    """Resume a run."""

    @extend_schema(operation_id="resume_workflow_run", request=EmptyBody, responses=_ANSWERED)
    @idempotent(required=False)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Resume a paused run; one that is not paused stays as it is."""
        self.read_body(EmptyBody)
        control.resume_run(self.tenant_id, run_id, actor=self.actor)
        return self.accepted(run_id)


class SkipStepView(_ControlView):
    """Skip a step."""

    @extend_schema(operation_id="skip_run_step", request=SkipStepBody, responses=_ANSWERED)
    @idempotent(required=True)
    def post(self, request: Request, run_id: UUID, key: str) -> Response:
        """End a step that waits as SKIPPED; what depends on it is judged by its condition.

        Of an ended run, a step that has failed or was cancelled counts as skipped in the next take,
        which begins with what comes behind it. 409 `still_running` for a step that calls something,
        `step_ended` for one that has ended otherwise, `run_compensated` where what succeeded was
        undone. With `item`: only that item of a fan-out, which has not begun.
        """
        item = self.read_body(SkipStepBody).get("item")
        control.skip_step(self.tenant_id, run_id, key, item, actor=self.actor)
        return self.accepted(run_id)


class SucceedStepView(_ControlView):
    """Mark a step as succeeded."""

    @extend_schema(operation_id="succeed_run_step", request=SucceedStepBody, responses=_ANSWERED)
    @idempotent(required=True)
    def post(self, request: Request, run_id: UUID, key: str) -> Response:
        """End a step that waits as SUCCEEDED, with an output.

        Also a step of an ended run that has failed or was cancelled, as for skipping it; 409 too.
        """
        body = self.read_body(SucceedStepBody)
        output, item = body.get("output"), body.get("item")
        control.succeed_step(self.tenant_id, run_id, key, output, item, actor=self.actor)
        return self.accepted(run_id)


class ApproveStepView(_ControlView):
    """Decide about an approval."""

    @extend_schema(operation_id="approve_run_step", request=ApproveStepBody, responses=_ANSWERED)
    @idempotent(required=True)
    def post(self, request: Request, run_id: UUID, key: str) -> Response:
        """Approve a step that waits for it, or refuse it: then it is FAILED `approval_rejected`.

        409 where it does not wait for an approval of this take.
        """
        wanted = self.read_body(ApproveStepBody)
        control.approve_step(self.tenant_id, run_id, key, actor=self.actor, **wanted)
        return self.accepted(run_id)
