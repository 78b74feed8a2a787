"""The answers that show the past work and the calendar of one task, for every door."""

from __future__ import annotations

from typing import Any

from insight.statistics.of_task import Figures, Percentiles, TaskHistory
from insight.task_calendar import TaskCalendar, TaskDay
from shared.instants import format_instant


def present_history(found: TaskHistory) -> dict[str, Any]:
    """Return the statistics of a task."""
    return {
        "window": found.window,
        "window_from": format_instant(found.window_from),
        "from": format_instant(found.since),
        "to": format_instant(found.until),
        "complete": found.complete,
        "part_seconds": found.part_seconds,
        "total": _figures(found.total),
        "parts": [
            {"at": format_instant(part.start), **_figures(part.figures)} for part in found.parts
        ],
        "causes": [
            {
                "error_code": cause.error_code,
                "response_status": cause.response_status,
                "count": cause.count,
                "last_at": format_instant(cause.last_at),
                "last_execution_id": str(cause.last_id),
            }
            for cause in found.causes
        ],
    }


def present_calendar(found: TaskCalendar) -> dict[str, Any]:
    """Return the days of a task."""
    return {
        "at": format_instant(found.now),
        "timezone": found.zone,
        "today": found.today.isoformat(),
        "days": [_day(one) for one in found.days],
    }


def _figures(figures: Figures) -> dict[str, Any]:
    share = figures.success_share
    return {
        "ended": figures.ended,
        "succeeded": figures.succeeded,
        "failed": figures.failed,
        "success_share": None if share is None else round(share, 6),
        "start_delay_ms": _percentiles(figures.start_delay_ms),
        "duration_ms": _percentiles(figures.duration_ms),
    }


def _percentiles(found: Percentiles) -> dict[str, float | None]:
    return {"p50": found.p50, "p95": found.p95}


def _day(one: TaskDay) -> dict[str, Any]:
    return {
        "day": one.day.isoformat(),
        "succeeded": one.succeeded,
        "failed": one.failed,
        "cancelled": one.cancelled,
        "skipped": one.skipped,
        "coming": one.coming,
        "at_least": one.at_least,
        "excluded": one.excluded,
        "paused": one.paused,
        "clock_change": one.change or None,
    }
