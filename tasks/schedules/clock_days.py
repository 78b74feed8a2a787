"""The days on which the clocks of a zone change, for the calendars of pages.

Pure: knows no model and no clock.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from tasks.schedules.base import SECOND
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone


def days_of_changes(zone: Zone, low: datetime, high: datetime) -> dict[date, str]:
    """Return the local days of the changes in (low, high], each with its change in words."""
    found = {}
    second = max(0, (low - EPOCH) // SECOND)
    last = min(LAST_SECOND, (high - EPOCH) // SECOND)
    while (segment := zone.segment_at(second)).end <= last:
        at = EPOCH + segment.end * SECOND
        day = (at + timedelta(seconds=segment.offset) - SECOND).date()
        found[day] = _words(segment.after - segment.offset)
        second = segment.end
    return found


def _words(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    length = f"{abs(seconds)} seconds" if rest else f"{minutes} minutes"
    return f"the clocks go {'forward' if seconds > 0 else 'back'} {length}"
