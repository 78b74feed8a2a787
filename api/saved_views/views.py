"""``/v1/views``: saved views of lists. Reading needs ``read``, changing ``operate``.

Keys belong to tenants, not to members: a call about a personal view names its member and needs
``admin`` besides.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate_numbers
from api.protocol.query import choice, integer
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.saved_views.serializers import NewView, SavedViewSerializer, ViewChange
from tenants.choices import SavedList
from tenants.models import SavedView
from tenants.presentation import present_view
from tenants.services.saved_views import (
    ViewFields,
    create_view,
    get_view,
    list_views,
    member_of,
    remove_view,
    update_view,
)

_OPERATE = {"POST": "operate", "PATCH": "operate", "DELETE": "operate"}
_MEMBER = integer(
    "With the personal views of this member; needs the scope admin besides.",
    minimum=1,
    maximum=2**63 - 1,
)


class _ViewsPart(PunctualView):
    """What the calls about views have in common."""

    scopes = _OPERATE

    def member(self, given: int | None) -> int | None:
        """Return the member whose personal views the call is about; raise Forbidden."""
        if given is None:
            return None
        self.require_scope("admin", "A personal view")
        return member_of(self.tenant_id, given)


class SavedViewsView(_ViewsPart):
    """The tenant's saved views."""

    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "list": choice(*SavedList.values, description="Of this list."),
            "member": _MEMBER,
        }
    }

    @extend_schema(operation_id="list_views", responses=list_answer("views", SavedViewSerializer))
    def get(self, request: Request) -> Response:
        """List the shared views by list and name; with `member`, that member's own before them."""
        member = self.member(self.query["member"])
        found = [
            present_view(view) for view in list_views(self.tenant_id, member, self.query["list"])
        ]
        page = paginate_numbers(
            len(found), self.query, key="views", read=lambda start, end: found[start:end]
        )
        return Response(page)

    @extend_schema(
        operation_id="create_view", request=NewView, responses={201: SavedViewSerializer}
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Save a view: shared with the tenant, or with `member` a personal one.

        409 `name_taken` where the list has a view of this name. A default view replaces the
        former one of the same list and owner.
        """
        wanted = self.read_body(NewView)
        member = self.member(wanted.pop("member"))
        made = create_view(self.tenant_id, _fields(wanted), member=member, actor=self.actor)
        headers = {"Location": f"/v1/views/{made.id}", **_etag(made)}
        return Response(present_view(made), status=201, headers=headers)


class SavedViewView(_ViewsPart):
    """One saved view."""

    versioned = frozenset({"DELETE", "PATCH"})
    query_parameters = {
        "GET": {"member": _MEMBER},
        "PATCH": {"member": _MEMBER},
        "DELETE": {"member": _MEMBER},
    }

    @extend_schema(operation_id="get_view", responses=SavedViewSerializer)
    def get(self, request: Request, view_id: UUID) -> Response:
        """Show a saved view."""
        return _answer(get_view(self.tenant_id, view_id, self.member(self.query["member"])))

    @extend_schema(operation_id="change_view", request=ViewChange, responses=SavedViewSerializer)
    @idempotent(required=False)
    def patch(self, request: Request, view_id: UUID) -> Response:
        """Change a saved view; fields left out stay."""
        member = self.member(self.query["member"])
        wanted = self.read_body(ViewChange)
        changed = update_view(
            self.tenant_id,
            view_id,
            _fields(wanted),
            member=member,
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)

    @extend_schema(operation_id="remove_view", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, view_id: UUID) -> Response:
        """Remove a saved view."""
        remove_view(
            self.tenant_id,
            view_id,
            member=self.member(self.query["member"]),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return Response(status=204)


def _fields(wanted: dict[str, Any]) -> ViewFields:
    if "default" in wanted:
        wanted["is_default"] = wanted.pop("default")
    return cast(ViewFields, wanted)


def _answer(view: SavedView) -> Response:
    return Response(present_view(view), headers=_etag(view))


def _etag(view: SavedView) -> dict[str, str]:
    return {"ETag": f'"{view.version}"'}
