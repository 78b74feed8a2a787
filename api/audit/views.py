"""``GET /v1/audit`` and ``GET /v1/audit/{entry_id}``."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.audit.serializers import AuditEntrySerializer
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import Parameter, instant, text
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from events.audit.listing import get_entry, list_entries, order_of
from insight.presentation.audit import present_entry

#: The filters of the audit log, here and on its page.
AUDIT_FILTERS: dict[str, Parameter] = {
    "actor": text("Only of this actor, as entries name it."),
    "action": text("Only this action, such as `task.updated`.", max_length=60),
    "object_kind": text("Only of this kind of object, such as `task`.", max_length=40),
    "object_id": text("Only of this object; give its kind, too.", max_length=100),
    "since": instant("Only entries from then on."),
    "until": instant("Only entries before then."),
}


class AuditView(PunctualView):
    """The tenant's audit log."""

    scopes = {"GET": "admin"}
    query_parameters = {"GET": {**LIST_PARAMETERS, **AUDIT_FILTERS}}

    @extend_schema(
        operation_id="list_audit_entries", responses=list_answer("entries", AuditEntrySerializer)
    )
    def get(self, request: Request) -> Response:
        """List who changed what, newest first."""
        return Response(
            paginate(
                list_entries(self.tenant_id, self.query),
                self.query,
                key="entries",
                serialize=present_entry,
                order=order_of(self.query),
                counted=False,
            )
        )


class AuditEntryView(PunctualView):
    """One entry."""

    scopes = {"GET": "admin"}

    @extend_schema(operation_id="get_audit_entry", responses=AuditEntrySerializer)
    def get(self, request: Request, entry_id: UUID) -> Response:
        """Show one entry."""
        return Response(present_entry(get_entry(self.tenant_id, entry_id)))
