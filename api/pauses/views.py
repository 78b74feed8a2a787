"""``/v1/pauses``: standing pauses over a label, pool, destination or the tenant.

Reading needs ``read``, creating and ending ``operate``, as pausing a single task does.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import EmptyBody
from api.idempotency import idempotent
from api.pauses.serializers import PauseCreateBody, PauseReach, PauseSerializer
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from executions.changes import pauses
from executions.changes.pauses import Wanted
from insight.presentation.pauses import present_pause, present_pauses, present_reach

_OPERATE = {"POST": "operate"}
_ORDERS = {"-created_at": ("-created_at", "-id"), "created_at": ("created_at", "id")}


class PausesView(PunctualView):
    """The tenant's standing pauses."""

    scopes = _OPERATE
    receipt = frozenset({"id", "task_count"})
    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "open": boolean("Only those that are open, or only those that have ended."),
            "ordering": choice(*_ORDERS, description="By which column.", default="-created_at"),
        }
    }

    @extend_schema(operation_id="list_pauses", responses=list_answer("pauses", PauseSerializer))
    def get(self, request: Request) -> Response:
        """List standing pauses, newest first."""
        page = paginate(
            pauses.list_pauses(self.tenant_id, is_open=self.query["open"]),
            self.query,
            key="pauses",
            serialize=lambda row: row,
            order=_ORDERS[self.query["ordering"]],
        )
        return Response({**page, "pauses": present_pauses(page["pauses"])})

    @extend_schema(
        operation_id="create_pause",
        request=PauseCreateBody,
        responses={200: PauseReach, 201: PauseSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Create a standing pause; `dry_run` only counts (200).

        From the answer on no task that it covers starts, also none that comes under it later.
        Running executions continue. 409 `already_paused` for an open pause of the same scope and
        value.
        """
        body = self.read_body(PauseCreateBody)
        dry_run = body.pop("dry_run")
        wanted = Wanted(**body)
        if dry_run:
            reach = pauses.reach_of(self.tenant_id, wanted)
            return Response(present_reach(wanted.scope, reach))
        pause, count = pauses.create_pause(self.tenant_id, wanted, actor=self.actor)
        headers = {"Location": f"/v1/pauses/{pause.id}"}
        return Response(present_pause(pause, count), status=201, headers=headers)


class PauseView(PunctualView):
    """One standing pause."""

    @extend_schema(operation_id="get_pause", responses=PauseSerializer)
    def get(self, request: Request, pause_id: UUID) -> Response:
        """Show a standing pause, ended ones too."""
        [shown] = present_pauses([pauses.get_pause(self.tenant_id, pause_id)])
        return Response(shown)


class EndPauseView(PunctualView):
    """End a standing pause."""

    scopes = _OPERATE
    receipt = frozenset({"id", "task_count"})

    @extend_schema(operation_id="end_pause", request=EmptyBody, responses=PauseSerializer)
    @idempotent(required=True)
    def post(self, request: Request, pause_id: UUID) -> Response:
        """End a pause: its tasks resume by its `on_resume`, unless another pause covers them.

        409 `already_ended`.
        """
        self.read_body(EmptyBody)
        pause, count = pauses.end_pause(self.tenant_id, pause_id, actor=self.actor)
        return Response(present_pause(pause, count))
