"""The filters of lists of executions that depend on the present moment: ``due`` and ``ended``.

The overview's numbers open lists that are filtered by them, so both read the same definitions:
work is late from LATE_SECONDS on, and the last hour is the minute under way with the 59 before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from executions.ledger import days
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
