"""The wall-clock times that match cron fields, as if clocks never changed.

Works on whole seconds of local time since 1970; `cron` maps them to instants. One object per
expression, shared by every zone; the matching days of each visited month are remembered once
for all expressions that differ in their time of day only.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple, Protocol

from tasks.schedules.cron_parse import CronFields
from tasks.schedules.cron_terms import NeverFires

DAY = 86_400
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
#: A local time may be up to a day past the last instant of the calendar.
_LAST_YEAR = 2200
#: Any 28 years without a skipped leap year hold every kind of year there is.
_EVERY_KIND_OF_YEAR = range(2001, 2029)


class Dates(Protocol):
    """Answers which date comes next, counted in days since 1970."""

    def next(self, day: int) -> int | None:
        """Return the first date at or after this one; None past 2200."""


class WallCalendar:
    """Answers which matching wall-clock time comes next.

    ``dates``, where given, replace the dates of the day and month fields.
    """

    __slots__ = (
        "_dates",
        "_fields",
        "_first_minute",
        "_first_second",
        "_first_time",
        "_next_hour",
        "_next_minute",
        "_next_second",
    )

    def __init__(self, fields: CronFields, dates: Dates | None = None) -> None:
        self._fields = fields
        self._dates = dates or _dates(_rule(fields))
        self._next_hour = _next_table(fields.hours, 24)
        self._next_minute = _next_table(fields.minutes, 60)
        self._next_second = _next_table(fields.seconds, 60)
        self._first_second = fields.seconds[0]
        self._first_minute = fields.minutes[0] * 60 + self._first_second
        self._first_time = fields.hours[0] * 3600 + self._first_minute

    def next(self, wall: int) -> int | None:
        """Return the first matching wall-clock second at or after this one; None past 2200."""
        day, second = divmod(wall, DAY)
        found = self._dates.next(day)
        if found == day:
            time = self._next_time(second)
            if time is not None:
                return day * DAY + time
            found = self._dates.next(day + 1)
        return None if found is None else found * DAY + self._first_time

    def check_fires(self) -> None:
        """Raise NeverFires when no date matches."""
        if not _dates(_rule(self._fields)).any:
            raise NeverFires(_never(self._fields))

    def _next_time(self, second_of_day: int) -> int | None:
        hour, rest = divmod(second_of_day, 3600)
        minute, second = divmod(rest, 60)
        if self._next_hour[hour] == hour:
            if self._next_minute[minute] == minute:
                next_second = self._next_second[second]
                if next_second >= 0:
                    return hour * 3600 + minute * 60 + next_second
            next_minute = self._next_minute[minute + 1]
            if next_minute >= 0:
                return hour * 3600 + next_minute * 60 + self._first_second
        next_hour = self._next_hour[hour + 1]
        return None if next_hour < 0 else next_hour * 3600 + self._first_minute


@lru_cache(maxsize=8192)
def wall_calendar(fields: CronFields) -> WallCalendar:
    """Return the calendar of an expression; raise NeverFires when no date matches it."""
    made = WallCalendar(fields)
    made.check_fires()
    return made


class _Rule(NamedTuple):
    """The day and month fields of an expression; see CronFields."""

    days: frozenset[int]
    months: tuple[int, ...]
    weekdays: frozenset[int]
    days_before_last: frozenset[int]
    nearest_to: frozenset[int]
    last_workday: bool
    nth_weekdays: frozenset[tuple[int, int]]
    both_days: bool


def _rule(fields: CronFields) -> _Rule:
    return _Rule(*(getattr(fields, name) for name in _Rule._fields))


class _Dates:
    """Answers which matching date comes next, counted in days since 1970."""

    __slots__ = ("_known", "_next_month", "_rule", "any")

    def __init__(self, rule: _Rule) -> None:
        self._rule = rule
        self._next_month = _next_table(rule.months, 13)
        self._known: dict[int, int] = {}
        self.any = any(
            self._days(year, month) for year in _EVERY_KIND_OF_YEAR for month in rule.months
        )

    def next(self, day: int) -> int | None:
        start = date.fromordinal(_EPOCH_ORDINAL + day)
        year, month = start.year, start.month
        days = self._days(year, month) >> start.day
        if days:
            return day + _lowest_bit(days)
        while True:
            month = self._next_month[month + 1]
            if month < 0:
                year, month = year + 1, self._rule.months[0]
                if year > _LAST_YEAR:
                    return None
            days = self._days(year, month)
            if days:
                return date(year, month, 1).toordinal() - _EPOCH_ORDINAL + _lowest_bit(days >> 1)

    def _days(self, year: int, month: int) -> int:
        """Return the matching days of a month as bits 1 to 31."""
        key = year * 16 + month
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _matching_days(self._rule, year, month)
        return known


@lru_cache(maxsize=4096)
def _dates(rule: _Rule) -> _Dates:
    return _Dates(rule)


def _matching_days(rule: _Rule, year: int, month: int) -> int:
    if month not in rule.months:
        return 0
    first_weekday, length = calendar.monthrange(year, month)
    by_day = _days_of_month(rule, first_weekday, length)
    by_weekday = _days_of_week(rule, first_weekday, length)
    return by_day & by_weekday if rule.both_days else by_day | by_weekday


def _days_of_month(rule: _Rule, first_weekday: int, length: int) -> int:
    days = {day for day in rule.days if day <= length}
    days.update(length - back for back in rule.days_before_last if back < length)
    # In a month that is too short 31W means the weekday nearest to its last day, as in croniter.
    days.update(_nearest_workday(min(d, length), first_weekday, length) for d in rule.nearest_to)
    if rule.last_workday:
        days.add(_nearest_workday(length, first_weekday, length))
    return _bits(days)


def _days_of_week(rule: _Rule, first_weekday: int, length: int) -> int:
    # monthrange counts from Monday = 0, cron from Sunday = 0.
    days = {d for d in range(1, length + 1) if (first_weekday + d) % 7 in rule.weekdays}
    for weekday, which in rule.nth_weekdays:
        matching = range(1 + (weekday - first_weekday - 1) % 7, length + 1, 7)
        if which <= len(matching):
            days.add(matching[which - 1])
    return _bits(days)


def _nearest_workday(day: int, first_weekday: int, length: int) -> int:
    weekday = (first_weekday + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


def _bits(days: Iterable[int]) -> int:
    return sum(1 << day for day in days)


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


@lru_cache(maxsize=4096)
def _next_table(values: tuple[int, ...], size: int) -> tuple[int, ...]:
    """For each number up to `size`, the first of the values that is not below it, or -1."""
    return tuple(next((v for v in values if v >= number), -1) for number in range(size + 1))


def _never(fields: CronFields) -> str:
    day, month, weekday = fields.texts[3:]
    both = f" on weekday {weekday}" if fields.weekdays != frozenset(range(7)) else ""
    return (
        f"Day-of-month field, position {fields.day_position}: no day {day} ever comes in month "
        f"{month}{both}, so this never runs. Use L for the last day of a month, or change the "
        "day or the month."
    )
