"""The filters of lists of executions: a text, and the ones that depend on the present moment.

The overview's numbers open lists that are filtered by ``due`` and ``ended``, so both read the same
definitions: work is late from LATE_SECONDS on, and the last hour is the minute under way with the
59 before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from executions.ledger import days
from executions.querysets import ExecutionQuerySet
from insight.filter_language.conditions import Scope, executions_matching
from insight.filter_language.terms import Filter
from insight.statistics.minutes import first_minute
from insight.statistics.present import LATE_SECONDS

#: ``now``: waits for a worker, its time has come. ``late``: has not started a second after it.
DUE = ("now", "late")
ENDED = ("last_hour",)


def with_bounds(filters: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the filters with the bounds that ``due`` and ``ended`` need in the querysets.

    ``id_from`` limits a read of executions that ended within the hour to few days.
    """
    found = dict(filters)
    due, ended = filters.get("due"), filters.get("ended")
    if due:
        late = due == "late"
        found["due_before"] = now - timedelta(seconds=LATE_SECONDS) if late else now
        found["or_queued"] = late
    if ended:
        found["ended_from"] = first_minute(now)
        found["id_from"] = days.oldest_of_last_hour(now)
    return found


def narrowed(
    rows: ExecutionQuerySet, wanted: Filter | None, filters: Mapping[str, Any], scope: Scope
) -> tuple[ExecutionQuerySet, dict[str, Any]]:
    """Return the rows that a filter leaves, and the filters that the querysets still have to apply.

    Its first free text becomes ``q`` where there is none, because the querysets read a search in
    parts that an index each finds.
    """
    found = dict(filters)
    if wanted is None:
        return rows, found
    if not found.get("q"):
        wanted, found["q"] = wanted.taking_text()
    return executions_matching(rows, wanted, scope), found
