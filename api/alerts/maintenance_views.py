"""``/v1/maintenance-windows``: when alerts are kept and not told."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.maintenance_serializers import NewWindow, WindowSerializer
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from executions.loop.clocks import database_now
from notifications.presentation import present_window
from notifications.services.maintenance import (
    WindowFields,
    create_window,
    end_window,
    get_window,
    list_windows,
)


class MaintenanceWindowsView(PunctualView):
    """The tenant's maintenance windows."""

    scopes = {"GET": "read", "POST": "operate"}
    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_maintenance_windows",
        responses=list_answer("maintenance_windows", WindowSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the maintenance windows, newest first; one that is over stays for a week."""
        page = paginate(
            list_windows(self.tenant_id),
            self.query,
            key="maintenance_windows",
            serialize=partial(present_window, now=database_now()),
        )
        return Response(page)

    @extend_schema(
        operation_id="create_maintenance_window",
        request=NewWindow,
        responses={201: WindowSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Hold back the messages about alerts, once or each week.

        Alerts are opened and counted meanwhile; what was held back is told in one message when the
        window ends. Runs go on: pause tasks where they should not.
        """
        wanted = WindowFields(**self.read_body(NewWindow))
        made = create_window(self.tenant_id, wanted, actor=self.actor)
        headers = {"Location": f"/v1/maintenance-windows/{made.id}"}
        return Response(present_window(made, database_now()), status=201, headers=headers)


class MaintenanceWindowView(PunctualView):
    """One maintenance window."""

    scopes = {"GET": "read", "DELETE": "operate"}

    @extend_schema(operation_id="get_maintenance_window", responses=WindowSerializer)
    def get(self, request: Request, window_id: UUID) -> Response:
        """Show a maintenance window."""
        found = get_window(self.tenant_id, window_id)
        return Response(present_window(found, database_now()))

    @extend_schema(operation_id="end_maintenance_window", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, window_id: UUID) -> Response:
        """End a maintenance window, a weekly one for good; what it held back is told."""
        end_window(self.tenant_id, window_id, actor=self.actor)
        return Response(status=204)
