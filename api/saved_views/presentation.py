"""The answer that shows a saved view, for every door."""

from __future__ import annotations

from typing import Any

from api.list_pages import unknown_parameters
from shared.instants import format_instant
from tenants.models import SavedView


def present_view(view: SavedView) -> dict[str, Any]:
    """Return a view with the parameters that its list has no longer."""
    return {
        "id": str(view.id),
        "list": str(view.list),
        "name": view.name,
        "query": view.query,
        "shared": view.member_id is None,
        "member": view.member_id,
        "default": view.is_default,
        "unknown_parameters": unknown_parameters(view.list, view.query),
        "version": view.version,
        "created_at": format_instant(view.created_at),
        "updated_at": format_instant(view.updated_at),
    }
