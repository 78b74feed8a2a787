"""The usage of tenants as answers and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from insight.statistics.usage import Span, Usage
from shared.table_files import csv_lines

_COLUMNS = (
    "day",
    "executions_started",
    "executions_succeeded",
    "executions_failed",
    "executions_cancelled",
    "attempts",
    "execution_seconds",
    "recorded_bytes",
    "workflow_runs_succeeded",
    "workflow_runs_failed",
)


def present_day(usage: Usage) -> dict[str, Any]:
    """Return the figures of a day."""
    return {"day": usage.day.isoformat(), **_figures([usage])}


def present_usage(span: Span, days: Sequence[Usage]) -> dict[str, Any]:
    """Return the days and their totals."""
    return {
        "from": span.first.isoformat(),
        "to": span.last.isoformat(),
        "days": [present_day(one) for one in days],
        "total": total_of(days),
    }


def total_of(days: Iterable[Usage]) -> dict[str, Any]:
    """Return the sums of the days' figures."""
    return _figures(list(days))


def usage_csv(days: Iterable[Usage], names: Mapping[UUID, str] | None = None) -> str:
    """Return the days as CSV with a heading; with ``names`` each line begins with the tenant."""
    heading = _COLUMNS if names is None else ("tenant_id", "tenant", *_COLUMNS)
    rows = (
        {
            **present_day(one),
            "tenant_id": str(one.tenant_id),
            "tenant": names[one.tenant_id] if names else "",
        }
        for one in days
    )
    return "".join(csv_lines(heading, rows))


def _figures(days: Sequence[Usage]) -> dict[str, Any]:
    return {
        "executions_started": sum(one.started for one in days),
        "executions_succeeded": sum(one.succeeded for one in days),
        "executions_failed": sum(one.failed for one in days),
        "executions_cancelled": sum(one.cancelled for one in days),
        "attempts": sum(one.attempts for one in days),
        "execution_seconds": sum(one.execution_ms for one in days) / 1000,
        "recorded_bytes": sum(one.recorded_bytes for one in days),
        "workflow_runs_succeeded": sum(one.runs_succeeded for one in days),
        "workflow_runs_failed": sum(one.runs_failed for one in days),
    }
