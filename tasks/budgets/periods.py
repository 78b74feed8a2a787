"""The days and months of a budget, by the calendar of the task's time zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from tasks.choices import BUDGET_PERIODS
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.zones import EPOCH, UnknownZone, Zone, find_zone

_SECOND = timedelta(seconds=1)


def end_of(per: str, timezone: str, now: datetime) -> datetime:
    """Return when the period that holds ``now`` ends: the next local midnight, or the next first.

    A day whose clocks change has 23 or 25 hours. Where midnight is left out, the next day begins
    with its first moment. A zone that the zone database no longer has counts as UTC.
    """
    zone = _zone(timezone)
    today = now.astimezone(zone.info).date()
    following = _first_of_next(today) if per == BUDGET_PERIODS[1] else today + timedelta(days=1)
    end = _begin_of(following, zone)
    # A midnight that occurs twice belongs to the day that its first one begins.
    return end if end > now else _begin_of(following + timedelta(days=1), zone)


def _first_of_next(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _begin_of(day: date, zone: Zone) -> datetime:
    wall = (datetime(day.year, day.month, day.day, tzinfo=UTC) - EPOCH) // _SECOND
    found = place(zone, wall, LocalRules())
    return EPOCH + (wall if found is None else found[0]) * _SECOND


def _zone(name: str) -> Zone:
    try:
        return find_zone(name)
    except UnknownZone:
        return find_zone("UTC")
