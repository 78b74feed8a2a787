"""Calendars as every door shows them."""

from __future__ import annotations

from typing import Any

from shared.instants import format_instant
from tasks.models import Calendar


def present_calendar(calendar: Calendar, tasks: int) -> dict[str, Any]:
    """Return a calendar with all its days; ``tasks`` is how many name it."""
    return {
        **_head(calendar),
        "dates": calendar.dates,
        "windows": calendar.windows,
        "last_import": calendar.last_import,
        **_tail(calendar, tasks),
    }


def present_summary(calendar: Any, tasks: int) -> dict[str, Any]:
    """Return a calendar as lists show it; ``date_count`` and ``window_count`` are annotated."""
    return {
        **_head(calendar),
        "date_count": calendar.date_count,
        "window_count": calendar.window_count,
        **_tail(calendar, tasks),
    }


def _head(calendar: Calendar) -> dict[str, Any]:
    return {
        "id": str(calendar.id),
        "name": calendar.name,
        "description": calendar.description,
        "weekend": calendar.weekend,
    }


def _tail(calendar: Calendar, tasks: int) -> dict[str, Any]:
    return {
        "version": calendar.version,
        "tasks": tasks,
        "created_at": format_instant(calendar.created_at),
        "updated_at": format_instant(calendar.updated_at),
    }
