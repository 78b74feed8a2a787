"""From local times of an iCalendar file to instants, by RFC 5545 where the clocks change."""

from __future__ import annotations

from datetime import datetime, timedelta

from tasks.schedules.base import DST_GAP
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

SECOND = timedelta(seconds=1)
#: The moments that calendars cover.
FIRST, LAST = EPOCH, EPOCH + LAST_SECOND * SECOND
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_RULES = LocalRules()


def instant_of(zone: Zone, local: datetime) -> datetime | None:
    """Return the instant of a local time; None outside of the years that calendars cover.

    A time that the clocks jump over has the offset from before the gap; of a time that occurs
    twice it is the first (RFC 5545, 3.3.5).
    """
    wall = (local - _NAIVE_EPOCH) // SECOND
    placed = place(zone, wall, _RULES)
    if placed is None:
        return None
    second, notes = placed
    if DST_GAP in notes:
        second = wall - zone.segment_at(second - 1).offset
    return EPOCH + second * SECOND


def local_of(zone: Zone, instant: datetime) -> datetime:
    """Return an instant as local time of a zone."""
    second = min(max(0, (instant - EPOCH) // SECOND), LAST_SECOND)
    return (instant + zone.segment_at(second).offset * SECOND).replace(tzinfo=None)
