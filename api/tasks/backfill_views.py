"""``POST /v1/tasks/{id}/backfill``: run past instants of a range again; needs ``operate``."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.bulk_jobs.serializers import BulkJobSerializer
from api.bulk_jobs.views import JOB_RECEIPT, job_answer
from api.idempotency import idempotent
from api.tasks.answers import OneTaskView
from api.tasks.backfill_serializers import BackfillBody, BackfillPlan
from executions.bulk.backfill import Wanted, create_backfill, plan_backfill
from insight.presentation.bulk_jobs import present_backfill_plan


class BackfillView(OneTaskView):
    """Run past instants of a task again."""

    scopes = {"POST": "operate"}
    receipt = JOB_RECEIPT | {"count"}

    @extend_schema(
        operation_id="backfill_task",
        request=BackfillBody,
        responses={200: BackfillPlan, 202: BulkJobSerializer},
    )
    @idempotent(required=True)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Run every instant of the task's schedule from `start` to `end`, both included, again.

        The answer is a bulk job; `dry_run` only plans (200). The task's current schedule counts,
        with its calendars; `max_occurrences` does not bound it. At most 100,000
        instants (400 `too_many`), at least one (400 `nothing_matches`). 409 `task_cancelled`, or
        `task_paused` while a standing pause holds the task.
        """
        body = self.read_body(BackfillBody)
        self.require(task_id)
        wanted = Wanted(
            body["start"], body["end"], body.get("max_parallel"), body.get("overlap_policy")
        )
        if body["dry_run"]:
            plan = plan_backfill(self.tenant_id, task_id, wanted)
            return Response(present_backfill_plan(plan))
        job = create_backfill(
            self.tenant_id,
            task_id,
            wanted,
            actor=self.actor,
            name=body["name"],
            expected_count=body.get("expected_count"),
        )
        return job_answer(job)
