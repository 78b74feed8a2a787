"""The usage of tenants as answers and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from insight.statistics.usage import Span, Usage

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
#: A spreadsheet takes a cell that begins so for a formula.
_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


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
    out = io.StringIO()
    writer = csv.writer(out)
    heading = _COLUMNS if names is None else ("tenant_id", "tenant", *_COLUMNS)
    writer.writerow(heading)
    for one in days:
        figures = list(present_day(one).values())
        whose = [] if names is None else [str(one.tenant_id), _text(names[one.tenant_id])]
        writer.writerow([*whose, *figures])
    return out.getvalue()


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


def _text(name: str) -> str:
    return f"'{name}" if name.startswith(_OF_FORMULAS) else name
