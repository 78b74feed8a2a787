"""The document of a saved view."""

from __future__ import annotations

from datetime import UTC, datetime

from api.saved_views.presentation import present_view
from tenants.models import SavedView

AT = datetime(2026, 11, 20, 8, tzinfo=UTC)


def test_a_view_without_a_member_is_shared():
    view = SavedView(list="tasks", name="A", query="x=1", member_id=7, created_at=AT, updated_at=AT)

    personal = present_view(view)
    view.member_id = None

    assert (personal["shared"], personal["member"]) == (False, 7)
    assert present_view(view)["shared"]
    assert personal["unknown_parameters"] == ["x"]
    assert personal["created_at"] == "2026-11-20T08:00:00.000Z"
