"""``POST /v1/tasks/{id}/erase`` and ``/v1/erasures``; all of them need the scope ``admin``."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.erasures.serializers import EraseBody, ErasureSerializer
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from executions.erasure.requests import erase_task, get_erasure, list_erasures
from insight.presentation.erasures import present_erasure

_ADMIN = "admin"


class EraseTaskView(PunctualView):
    """Erase a task."""

    scopes = {"POST": _ADMIN}
    seen_with = _ADMIN

    @extend_schema(operation_id="erase_task", request=EraseBody, responses={202: ErasureSerializer})
    @idempotent(required=False)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Delete a task, abort its executions, and erase all content of it and of them.

        A deleted task can be erased, too. That cannot be undone; ids, times, states and counts
        stay. 409 `is_workflow`; 409 `already_erasing` while an erasure of it is under way.
        """
        body = self.read_body(EraseBody)
        erasure = erase_task(self.tenant_id, task_id, reason=body["reason"], actor=self.actor)
        headers = {"Location": f"/v1/erasures/{erasure.id}"}
        return Response(present_erasure(erasure), status=202, headers=headers)


class ErasuresView(PunctualView):
    """The tenant's erasures."""

    scopes = {"GET": _ADMIN}
    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_erasures", responses=list_answer("erasures", ErasureSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the certificates of erasures, newest first."""
        page = paginate(
            list_erasures(self.tenant_id),
            self.query,
            key="erasures",
            serialize=present_erasure,
            order=("-begun_at", "-id"),
        )
        return Response(page)


class ErasureView(PunctualView):
    """One erasure."""

    scopes = {"GET": _ADMIN}

    @extend_schema(operation_id="get_erasure", responses=ErasureSerializer)
    def get(self, request: Request, erasure_id: UUID) -> Response:
        """Show the certificate of an erasure."""
        return Response(present_erasure(get_erasure(self.tenant_id, erasure_id)))
