"""``/v1/bulk-jobs`` and the calls that make one: an action over many rows.

Reading needs ``read``, acting ``operate``; deleting tasks is a change of definitions and needs
``write`` besides, as it does for a single one.
"""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.bulk_jobs.serializers import (
    SCOPE_FIELDS,
    BulkJobDetail,
    BulkJobSerializer,
    BulkScope,
    ExecutionActionBody,
    LetterActionBody,
    ReplayBody,
    TaskActionBody,
)
from api.executions.serializers import EmptyBody
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import choice, choices
from api.protocol.schema import list_answer
from api.protocol.serializers import StrictSerializer
from api.protocol.views import PunctualView
from executions.bulk import jobs
from executions.bulk.options import read_options
from executions.choices import JobStatus
from executions.models import BulkJob
from insight.presentation.bulk_jobs import (
    present_bulk_job,
    present_item,
    present_job_detail,
    present_sample,
    present_scope,
)
from shared.exceptions import Forbidden

_OPERATE = {"POST": "operate"}
_ORDERS = {"-created_at": ("-created_at", "-id"), "created_at": ("created_at", "id")}
_ANSWERS = {200: BulkScope, 202: BulkJobSerializer}
#: The fields that a key without `read` gets of a bulk job: its id and its counts.
JOB_RECEIPT = frozenset({"id", "status", "total", "done", "skipped", "failed", "remaining"})


class _ActionsView(PunctualView):
    """Count the rows that an action would cover, or make the job that does it."""

    scopes = _OPERATE
    receipt = JOB_RECEIPT | {"count"}
    kind: ClassVar[str]
    body: ClassVar[type[StrictSerializer]]
    #: Of a call that has one action only.
    action: ClassVar[str] = ""

    def answer(self) -> Response:
        """Return 200 with the scope of a dry run, or 202 with the job."""
        wanted = self.read_body(self.body)
        action, filters = wanted.get("action", self.action), wanted["filter"]
        options = {name: value for name, value in wanted.items() if name not in SCOPE_FIELDS}
        if wanted["dry_run"]:
            given = read_options(self.kind, action, options)
            return Response(self._scope(action, filters, given.get("into")))
        job = jobs.create_bulk_job(
            self.tenant_id,
            kind=self.kind,
            action=action,
            filters=filters,
            options=options,
            name=wanted["name"],
            actor=self.actor,
            expected_count=wanted.get("expected_count"),
        )
        return job_answer(job)

    def _scope(
        self, action: str, filters: dict[str, Any], into: dict[str, str] | None
    ) -> dict[str, Any]:
        scope = jobs.count_matching(self.tenant_id, self.kind, filters, action=action, into=into)
        sample = jobs.sample_matching(self.tenant_id, self.kind, filters, action=action)
        return {**present_scope(scope), "sample": present_sample(sample)}


class DeadLetterActionsView(_ActionsView):
    """Act on many dead letters."""

    kind = "dead_letters"
    body = LetterActionBody

    @extend_schema(operation_id="act_on_dead_letters", request=LetterActionBody, responses=_ANSWERS)
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Retry, resolve, archive or purge the matching rows; `dry_run` only counts (200)."""
        return self.answer()


class TaskActionsView(_ActionsView):
    """Act on many tasks."""

    kind = "tasks"
    body = TaskActionBody

    @extend_schema(operation_id="act_on_tasks", request=TaskActionBody, responses=_ANSWERS)
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Pause, resume, cancel, run, delete or set matching tasks; `dry_run` only counts (200).

        `set` merges the field `set` into each task as PATCH does. A task that has these values
        already is skipped (`unchanged`). `delete` and `set` also need the scope `write`.
        """
        asked = request.data.get("action") if isinstance(request.data, dict) else None
        if asked in ("delete", "set") and "write" not in self.caller.scopes:
            raise Forbidden("Changing definitions needs the scope write besides operate.")
        return self.answer()


class ExecutionActionsView(_ActionsView):
    """Act on many executions."""

    kind = "executions"
    body = ExecutionActionBody

    @extend_schema(
        operation_id="act_on_executions", request=ExecutionActionBody, responses=_ANSWERS
    )
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Cancel or retry the matching executions; `dry_run` only counts (200)."""
        return self.answer()


class ReplayView(_ActionsView):
    """Run a range of executions again."""

    kind = "executions"
    action = "replay"
    body = ReplayBody

    @extend_schema(operation_id="replay_executions", request=ReplayBody, responses=_ANSWERS)
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Run the executions of a range again, with their payloads, at a pace; a bulk job.

        `filter` needs `since` and `until`, or `ids`; the range counts as in lists. Without
        `status` it takes SUCCEEDED and FAILED ones. Each new execution names its original as
        `parent_id`; originals stay as they are. Only `ids` selects retries and replays, so a second
        replay of a range does not double them. `rate_per_second` sets how many are made per
        second, ten by default; `dry_run` only counts (200).

        The target is the task's current one, or `into`, which also needs the scope `write`:
        `{"url": …}` for webhooks, `{"pool": …}` for all others. Their retries go there, too, and
        an edit of the task does not reach them. Secrets do not follow to another host: the task's
        authentication, certificates, proxy and secret headers are left out, and a command with
        secrets cannot go to another pool (`secret_required`). Executions that cannot go there
        (`unfit` of a dry run) are skipped.
        """
        asked = request.data.get("into") if isinstance(request.data, dict) else None
        if asked is not None and "write" not in self.caller.scopes:
            raise Forbidden("Choosing where work goes needs the scope write besides operate.")
        return self.answer()


class BulkJobsView(PunctualView):
    """The tenant's bulk jobs."""

    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "status": choices(*JobStatus.values, description="One or more states."),
            "ordering": choice(*_ORDERS, description="By which column.", default="-created_at"),
        }
    }

    @extend_schema(
        operation_id="list_bulk_jobs", responses=list_answer("bulk_jobs", BulkJobSerializer)
    )
    def get(self, request: Request) -> Response:
        """List bulk jobs, newest first."""
        found = jobs.list_bulk_jobs(self.tenant_id)
        if self.query["status"]:
            found = found.filter(status__in=self.query["status"])
        page = paginate(
            found,
            self.query,
            key="bulk_jobs",
            serialize=present_bulk_job,
            order=_ORDERS[self.query["ordering"]],
        )
        return Response(page)


class BulkJobView(PunctualView):
    """One bulk job."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(operation_id="get_bulk_job", responses=BulkJobDetail)
    def get(self, request: Request, job_id: UUID) -> Response:
        """Show a bulk job; `results` are the rows that were skipped or failed, page by page."""
        job = jobs.get_bulk_job(self.tenant_id, job_id)
        page = paginate(
            jobs.items_not_done(job),
            self.query,
            key="results",
            serialize=present_item,
            order=("position",),
        )
        return Response({**present_job_detail(job), **page})


class CancelBulkJobView(PunctualView):
    """Cancel a bulk job."""

    scopes = _OPERATE
    receipt = JOB_RECEIPT

    @extend_schema(
        operation_id="cancel_bulk_job", request=EmptyBody, responses={202: BulkJobSerializer}
    )
    @idempotent(required=False)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Cancel: finished rows stay done, the rest is skipped. 409 `already_final` when ended.

        Executions that a backfill has made and that have not started are CANCELLED, also when the
        job itself is COMPLETED. Running executions continue.
        """
        self.read_body(EmptyBody)
        return job_answer(jobs.cancel_bulk_job(self.tenant_id, job_id, actor=self.actor))


def job_answer(job: BulkJob) -> Response:
    """Return 202 with a job and its location."""
    headers = {"Location": f"/v1/bulk-jobs/{job.id}"}
    return Response(present_bulk_job(job), status=202, headers=headers)
