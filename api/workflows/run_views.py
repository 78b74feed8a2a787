"""Runs of workflows: start, list, show, and the items of a fan-out."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate, paginate_numbers
from api.protocol.query import choices, instant
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.workflows.answers import run_accepted
from api.workflows.serializers import (
    RUN_STATUSES,
    RunSerializer,
    RunStepItemsPage,
    RunSummarySerializer,
    StartRunBody,
)
from executions.loop.clocks import database_now
from insight import run_items, workflow_runs
from insight.presentation.workflow_runs import (
    present_items,
    present_run,
    present_runs,
    present_take,
)
from shared.exceptions import NotFound
from workflows.launching import get_workflow, start_run


class NoRun(NotFound):
    """The workflow has no run yet."""

    code = "no_run"


class WorkflowRunsView(PunctualView):
    """The runs of a workflow."""

    reads = "run"
    scopes = {"POST": "operate"}
    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "status": choices(*RUN_STATUSES, description="One or more states."),
            "since": instant("Runs from this time on."),
        }
    }

    @extend_schema(
        operation_id="list_workflow_runs", responses=list_answer("runs", RunSummarySerializer)
    )
    def get(self, request: Request, workflow_id: UUID) -> Response:
        """List the runs of a workflow, newest first, each with its latest take.

        Also those that have not begun, and those that never did. The single view has the steps.
        """
        task, query = get_workflow(self.tenant_id, workflow_id), self.query
        found = workflow_runs.runs_of(self.tenant_id, task.id)
        found = found.scheduled_between(query["since"], None)
        if query["status"]:
            found = workflow_runs.with_status(found, query["status"])
        page = paginate(
            found,
            query,
            key="runs",
            serialize=lambda row: row,
            order=("-id",),
            counted=not query["status"],
        )
        return Response({**page, "runs": present_runs(workflow_runs.latest_takes(page["runs"]))})

    @extend_schema(
        operation_id="start_workflow_run", request=StartRunBody, responses={202: RunSerializer}
    )
    @idempotent(required=True)
    def post(self, request: Request, workflow_id: UUID) -> Response:
        """Run a workflow now, beside its schedule, also while it is paused.

        An input that the workflow's `input_schema` refuses is 400 `schema_mismatch`.
        """
        value = self.read_body(StartRunBody).get("input")
        execution = start_run(self.tenant_id, workflow_id, value, actor=self.actor)
        return run_accepted(self.tenant_id, execution.id)


class WorkflowStatusView(PunctualView):
    """The latest run of a workflow."""

    reads = "run"
    problems = {404: "There is no such workflow, or it has no run yet (`no_run`)."}

    @extend_schema(operation_id="get_workflow_status", responses=RunSerializer)
    def get(self, request: Request, workflow_id: UUID) -> Response:
        """Show the run whose time came last, with every step; else the next one ahead."""
        task = get_workflow(self.tenant_id, workflow_id)
        first = workflow_runs.latest_run(self.tenant_id, task.id, database_now())
        if first is None:
            raise NoRun
        [take] = workflow_runs.latest_takes([first])
        return Response(present_take(take))


class WorkflowRunView(PunctualView):
    """One run."""

    reads = "run"

    @extend_schema(operation_id="get_workflow_run", responses=RunSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show a run with every step: its latest take, with the steps kept from earlier ones."""
        return Response(present_run(self.tenant_id, run_id))


class RunStepItemsView(PunctualView):
    """The items of a fan-out."""

    reads = "run"
    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(operation_id="list_run_step_items", responses=RunStepItemsPage)
    def get(self, request: Request, run_id: UUID, key: str) -> Response:
        """List the items of a fan-out in their order; of an ended one, those that have begun.

        404 for a step that has no items.
        """
        [seen] = workflow_runs.see([workflow_runs.find_take(self.tenant_id, run_id)])
        number = workflow_runs.number_of(seen, key)
        if not seen.fans_out(number):
            raise NotFound(f"Step {key[:100]!r} has no items: it has no for_each.")
        total = run_items.item_total_of(seen, number)
        read = partial(present_items, seen, number)
        return Response(paginate_numbers(total, self.query, key="items", read=read))
