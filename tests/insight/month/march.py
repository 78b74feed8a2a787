"""March of 2027 in Berlin, half over; on the 28th the clocks go forward."""

from __future__ import annotations

from datetime import UTC, date, datetime

from insight.month.local_days import days_of_month
from tasks.schedules.zones import find_zone

BERLIN = find_zone("Europe/Berlin")
FIRST = date(2027, 3, 1)
DAYS = days_of_month(FIRST, BERLIN)
#: The 20th, 14:00 in Berlin.
NOW = datetime(2027, 3, 20, 13, tzinfo=UTC)


def on(day: int) -> date:
    """Return a day of the month."""
    return FIRST.replace(day=day)
