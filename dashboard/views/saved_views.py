"""Save, change and remove a view of a list; personal ones by every member, shared by operators."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action
from dashboard.fields import read_text, read_version
from dashboard.saved_views import NO_VIEW, address_of
from shared.exceptions import Forbidden
from tenants.choices import Role, SavedList
from tenants.models import SavedView
from tenants.services.saved_views import (
    NAME_LENGTH,
    create_view,
    get_view,
    remove_view,
    update_view,
)


@action(Role.VIEWER)
def create(request: ConsoleRequest) -> Done:
    """Save the list as it is shown."""
    visitor, of = request.visitor, request.POST.get("list", "")
    shared = "shared" in request.POST
    if shared:
        _require_operator(request)
    made = create_view(
        visitor.tenant.pk,
        {
            "list": of,
            "name": read_text(request, "name", longest=NAME_LENGTH),
            "query": request.POST.get("query", ""),
            "is_default": "default" in request.POST,
        },
        member=None if shared else visitor.membership.pk,
        actor=visitor.actor,
    )
    return Done(f"Saved as {made.name}.", address_of(made))


@action(Role.VIEWER)
def change(request: ConsoleRequest, view_id: UUID) -> Done:
    """Give a view its name, and the filters and columns that are shown."""
    visitor, found = request.visitor, _found(request, view_id)
    changed = update_view(
        visitor.tenant.pk,
        found.pk,
        {
            "name": read_text(request, "name", longest=NAME_LENGTH),
            "query": request.POST.get("query", ""),
            "is_default": "default" in request.POST,
        },
        member=found.member_id,
        actor=visitor.actor,
        expected_version=read_version(request),
    )
    return Done("Saved.", address_of(changed))


@action(Role.VIEWER)
def remove(request: ConsoleRequest, view_id: UUID) -> Done:
    """Remove a view; the list stays as it is."""
    visitor, found = request.visitor, _found(request, view_id)
    remove_view(visitor.tenant.pk, found.pk, member=found.member_id, actor=visitor.actor)
    url = reverse(f"dashboard:{SavedList(found.list)}")
    return Done(f"Removed {found.name}.", f"{url}?saved={NO_VIEW}")


def _found(request: ConsoleRequest, view_id: UUID) -> SavedView:
    """Return a view that the visitor may change; raise NotFound and Forbidden."""
    visitor = request.visitor
    found = get_view(visitor.tenant.pk, view_id, visitor.membership.pk)
    if found.member_id is None:
        _require_operator(request)
    return found


def _require_operator(request: ConsoleRequest) -> None:
    if not request.visitor.may_operate:
        raise Forbidden("Shared views are saved and changed by operators.")
