"""``/v1/workflows`` and ``/v1/workflows/{id}``: create, list, show, edit, replace, delete."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.tasks.views import TASK_FILTERS, TaskView
from api.workflows.answers import OneWorkflowView, for_workflows, workflow_answer
from api.workflows.serializers import (
    WorkflowCreateSerializer,
    WorkflowEditSerializer,
    WorkflowSerializer,
)
from executions.loop.clocks import database_now
from insight.list_orders import TASK_ORDERS, in_order
from insight.presentation.workflows import present_workflows
from tasks import standing_pauses
from tasks.budgets.keeping import present_use
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.definition import WORKFLOW_POOL, Definition
from tasks.models import Task
from tasks.validation.bodies import StatusChange
from tasks.validation.workflow import (
    parse_workflow,
    parse_workflow_patch,
    parse_workflow_replace,
)
from workflows.launching import get_workflow


class WorkflowsView(PunctualView):
    """The tenant's workflows."""

    reads = "task"
    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            **{name: TASK_FILTERS[name] for name in ("status", "label", "owner", "q", "ordering")},
        }
    }

    @extend_schema(
        operation_id="list_workflows", responses=list_answer("workflows", WorkflowSerializer)
    )
    def get(self, request: Request) -> Response:
        """List workflows, newest first."""
        query = self.query
        workflows = Task.objects.for_tenant(self.tenant_id).filter(pool=WORKFLOW_POOL)
        order = TASK_ORDERS[query["ordering"]]
        page = paginate(
            in_order(workflows.filtered(query), order),
            query,
            key="workflows",
            serialize=lambda row: row,
            order=order,
        )
        return Response({**page, "workflows": present_workflows(page["workflows"])})

    @extend_schema(
        operation_id="create_workflow",
        request=WorkflowCreateSerializer,
        responses={201: WorkflowSerializer},
    )
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Create a workflow.

        A graph with a cycle is 400 `workflow_cycle`; its error has the keys in `path`.
        """
        # From here on no calendar that it names is deleted.
        standing_pauses.share_active(self.tenant_id)
        now, limits = database_now(), limits_of(self.tenant_id)
        definition = parse_workflow(request.data, now=now, limits=limits)
        task = create_task(self.tenant_id, definition, actor=self.actor, now=now)
        return workflow_answer(task, definition, status=201)


@for_workflows(
    "patch",
    "edit_workflow",
    """Merge an edit into a workflow (RFC 7396), or pause or resume it by its `status`.

    `steps` is a list, and replaced whole; a masked secret is that of the step of the same key. Runs
    that have begun continue with the version that they have. `status` also needs the scope
    `operate`.
    """,
    request=WorkflowEditSerializer,
    responses=WorkflowSerializer,
)
@for_workflows(
    "put",
    "replace_workflow",
    "Replace a workflow's definition; what is left out takes its default.",
    request=WorkflowCreateSerializer,
    responses=WorkflowSerializer,
)
@for_workflows(
    "delete",
    "delete_workflow",
    """Delete a workflow: no further runs; its runs stay readable.

    `cancel_running` also needs the scope `operate`.
    """,
)
class WorkflowView(OneWorkflowView, TaskView):
    """One workflow."""

    @extend_schema(operation_id="get_workflow", responses=WorkflowSerializer)
    def get(self, request: Request, task_id: UUID) -> Response:
        """Show a workflow with its steps; secrets are masked."""
        task = get_workflow(self.tenant_id, task_id)
        shown = workflow_answer(task)
        if use := present_use(task):
            shown.data["budget_use"] = use
        return shown

    def merged(self, current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        """Return the definition with the body merged in, and whether to pause or resume."""
        limits = limits_of(self.tenant_id)
        return parse_workflow_patch(self.request.data, now=now, limits=limits, current=current)

    def replaced(
        self, current: Definition, now: datetime
    ) -> tuple[Definition, StatusChange | None]:
        """Return the definition that the body puts in place of the current one."""
        limits, body = limits_of(self.tenant_id), self.request.data
        return parse_workflow_replace(body, now=now, limits=limits, current=current), None
