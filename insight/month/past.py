"""Past runs by day: of a whole tenant from the counts of minutes, of a filter from few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from insight.month.coming import Narrow
from insight.month.local_days import LocalDay
from shared.ids import first_id_at
from shared.sql import rows
from tasks.models import Task
from tasks.schedules.base import MICROSECOND

#: Tasks of a filter whose past runs are counted, the newest; rows of each on each day.
MOST_TASKS, MOST_ROWS = 40, 50


@dataclass(frozen=True, slots=True)
class Ended:
    """Runs of a day that have ended; ``at_least``: there may be more than were read."""

    succeeded: int = 0
    failed: int = 0
    at_least: bool = False


def ended_of_tenant(tenant_id: UUID, days: Sequence[LocalDay], now: datetime) -> dict[date, Ended]:
    """Return the runs of all tasks by the day of their end, without days that have none."""
    parameters = {
        "tenant": tenant_id,
        "starts": [one.start for one in days],
        "ends": [min(one.end, now + MICROSECOND) for one in days],
    }
    found = rows("month_reads/ended_of_tenant", parameters)
    return {days[number - 1].day: Ended(ok, failed) for number, ok, failed in found}


def ended_of_filter(
    tenant_id: UUID, days: Sequence[LocalDay], now: datetime, narrow: Narrow
) -> dict[date, Ended]:
    """Return the runs of the filter's tasks by the day of their time.

    Reads the newest 50 runs of each day of 40 tasks at most.
    """
    named = narrow(Task.objects.for_tenant(tenant_id)).order_by("-id")
    tasks = list(named.values_list("id", flat=True)[: MOST_TASKS + 1])
    parameters = {
        "tenant": tenant_id,
        "tasks": tasks[:MOST_TASKS],
        "lows": [first_id_at(one.start) for one in days],
        "highs": [first_id_at(min(one.end, now + MICROSECOND)) for one in days],
        "most": MOST_ROWS,
    }
    found = rows("month_reads/ended_of_tasks", parameters) if tasks else []
    more = len(tasks) > MOST_TASKS
    ended = {
        days[number - 1].day: Ended(ok, failed, more or is_cut)
        for number, ok, failed, is_cut in found
    }
    return {one.day: ended.get(one.day) or Ended(at_least=more) for one in days}
