"""The answers that show a task's ledger, for every door."""

from __future__ import annotations

from typing import Any

from insight.occurrences import Entry, Page
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant


def present_occurrences(page: Page, limit: int) -> dict[str, Any]:
    """Return a page of single instants as the API answers it."""
    return {
        "occurrences": [present_occurrence(entry) for entry in page.entries],
        "pagination": {"limit": limit, "next_cursor": page.next_cursor},
    }


def present_occurrence(entry: Entry) -> dict[str, Any]:
    """Return one instant as the API answers it."""
    return {
        "scheduled_for": format_instant(entry.at),
        "due_at": instant_or_none(entry.due_at),
        "status": entry.status,
        "reason": entry.reason or None,
        "execution_id": str(entry.execution_id) if entry.execution_id else None,
        "notes": list(entry.notes),
    }


def present_line(entry: Entry) -> dict[str, Any]:
    """Return one line of a page: an instant, or a stretch of instants."""
    return {
        **present_occurrence(entry),
        "last": instant_or_none(entry.last),
        "count": entry.count,
    }
