"""Saved views on a list's page: the menu, the view that is open, and the default.

The address has all of a list's state; ``saved`` names the view that it was opened by, ``none``
the list without its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from api.list_pages import PARAMETERS, without_place
from api.protocol.query import Parameter, text
from dashboard import list_filter
from dashboard.access import ConsoleRequest
from tenants.models import SavedView
from tenants.presentation import unknown_parameters
from tenants.services.saved_views import default_view, list_views

#: In place of a view: the list as it is without one.
NO_VIEW = "none"


@dataclass(frozen=True, slots=True)
class ShownView:
    """A view in the menu of its list."""

    view: SavedView
    url: str
    here: bool


@dataclass(frozen=True, slots=True)
class Views:
    """The saved views of a list, and how the page stands to them."""

    list: str
    shown: tuple[ShownView, ...]
    #: The view that the page was opened by.
    current: SavedView | None
    #: What saving the page as it is stores.
    query: str
    #: Whether the page shows something else than the view that it was opened by.
    is_changed: bool
    #: Parameters of the open view that its list has no longer.
    unknown: tuple[str, ...]
    #: Whether the visitor may change the open view.
    may_change: bool
    #: The address of the whole list, whichever view it opens by itself.
    without_url: str


def parameters_of(of: str) -> dict[str, Parameter]:
    """Return the parameters of a list's page: the list's own, and the view that it shows."""
    return {**PARAMETERS[of], **list_filter.PARAMETERS, "saved": text(max_length=36)}


def default_address(request: ConsoleRequest, of: str) -> str | None:
    """Return the address of the default view, where a page is asked for without any query."""
    if request.META.get("QUERY_STRING"):
        return None
    view = default_view(_views(request, of))
    return None if view is None else address_of(view)


def address_of(view: SavedView) -> str:
    """Return the address by which a view is opened."""
    parts = [*without_place(view.query), ("saved", str(view.id))]
    return f"{reverse(f'dashboard:{view.list}')}?{urlencode(parts)}"


def views_of(request: ConsoleRequest, of: str) -> Views:
    """Return the views that the visitor sees of this list."""
    visitor = request.visitor
    found = _views(request, of)
    chosen = request.GET.get("saved", "")
    current = next((view for view in found if str(view.id) == chosen), None)
    query = urlencode(
        [part for part in without_place(request.GET.urlencode()) if part[0] in PARAMETERS[of]]
    )
    unknown = unknown_parameters(current) if current else []
    opens_one = default_view(found) is not None
    kept = [
        part for part in without_place(current.query if current else "") if part[0] not in unknown
    ]
    return Views(
        list=of,
        shown=tuple(ShownView(view, address_of(view), view is current) for view in found),
        current=current,
        query=query,
        is_changed=current is not None and sorted(kept) != sorted(without_place(query)),
        unknown=tuple(unknown),
        may_change=current is not None and (current.member_id is not None or visitor.may_operate),
        without_url=reverse(f"dashboard:{of}") + (f"?saved={NO_VIEW}" if opens_one else ""),
    )


def _views(request: ConsoleRequest, of: str) -> list[SavedView]:
    """Return the views of the list, read once for a page."""
    found: list[SavedView] | None = getattr(request, "saved_views", None)
    if found is None:
        found = list_views(request.visitor.tenant.pk, request.visitor.membership.pk, of)
        request.saved_views = found  # type: ignore[attr-defined]  # kept for this request alone
    return found
