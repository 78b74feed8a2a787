"""One instant in plain words: ``in 2 hours``, ``tomorrow 9:00``, ``last friday 18:00``, RFC 3339.

A local time that the clocks skip or repeat is refused with the instants to choose from, as
`tasks.schedules.local_time` places them; no guess is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from shared.durations import DurationError, parse_duration
from shared.instants import parse_instant
from tasks.plain_times.vocabulary import (
    MONTHS,
    UNITS,
    WEEKDAYS,
    Clock,
    PlainTimeError,
    Words,
    not_understood,
    split,
)
from tasks.schedules.base import DST_OVERLAP
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

EXAMPLES = (
    "in 2 hours",
    "tomorrow 9:00",
    "monday 9:00",
    "last friday 18:00",
    "2026-12-01 9:00",
    "2026-12-01T09:00:00Z",
    "today 18:00",
    "yesterday",
    "next monday 9:00",
    "1 december 9:00",
    "2 hours ago",
    "18:00",
    "2h",
    "1h30m",
    "now",
)
#: Words in front of a bound.
LEADING = ("until", "till", "since", "from", "by", "before", "after")
_WRITTEN = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]", re.ASCII)
_RELATIVE_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_FIRST_DAY, _LAST = EPOCH.date(), EPOCH + timedelta(seconds=LAST_SECOND)
_DAY_SECONDS = 86_400
#: The days that a weekday, a date without its year, or a time alone may mean, counted from today.
_WEEK, _YEARS = 7, 4


def read_moment(
    text: str, *, now: datetime, zone: Zone, ahead: bool = False, after: datetime | None = None
) -> datetime:
    """Return the instant (UTC) that a text means; raise ValueError with a sentence.

    ``ahead`` decides what has no direction of its own: ``2h``, ``monday 9:00`` and ``18:00`` lie in
    the future with it, else in the past; ``monday 9:00`` is the first one behind ``after``, where
    that is given. A day without a time means its begin. The text may end with a zone (``monday
    9:00 Europe/Berlin``); otherwise it is read in ``zone``.
    """
    found = _read(text, now=now, zone=zone, ahead=ahead, after=after)
    if not EPOCH <= found <= _LAST:
        raise PlainTimeError(f"{text.strip()!r} is outside of the years 1970 to 2199.")
    return found


def _read(text: str, *, now: datetime, zone: Zone, ahead: bool, after: datetime | None) -> datetime:
    if _WRITTEN.match(text.strip()):
        return parse_instant(text.strip())
    words, zone = split(text, zone)
    words.take_of(LEADING)
    if _WRITTEN.match(words.next) and not words.ahead(1):
        return parse_instant(words.next)
    if words.next == "now" and not words.ahead(1):
        return now
    span = _span(words, text)
    if span is not None:
        length, direction = span
        return _moved(now, length * (direction or (1 if ahead else -1)), text)
    near = max(now, after) if after is not None else now
    return _local(words, text, today=now, near=near, zone=zone, ahead=ahead)


def is_length(words: Words) -> bool:
    """Return whether the words are a length of time without a direction, such as ``2h``."""
    begin = words.at
    is_whole = _length(words) is not None and not words.next
    words.at = begin
    return is_whole


def _moved(now: datetime, by: timedelta, text: str) -> datetime:
    try:
        return now + by
    except OverflowError:
        raise PlainTimeError(f"{text.strip()!r} is further than can be counted.") from None


def _span(words: Words, text: str) -> tuple[timedelta, int] | None:
    """Take a length of time; return it with 1 for ahead, -1 for back, 0 for either; or None."""
    direction = 1 if words.take("in", "for") else 0
    begin = words.at
    found = _length(words)
    if found is None:
        words.at = begin
        if direction:
            raise not_understood(text, words, EXAMPLES)
        return None
    if words.take("ago") and not direction:
        direction = -1
    if words.next:
        raise not_understood(text, words, EXAMPLES)
    return found, direction


def _length(words: Words) -> timedelta | None:
    """Take "1 hour and 30 minutes", "an hour", "2h" or "PT15M"; None for anything else."""
    try:
        short = parse_duration(words.next)
        words.at += 1
        return short
    except DurationError:
        pass  # not the short form: words may follow
    seconds = 0
    while True:
        count = 1 if words.take("a", "an") else words.take_number()
        unit = UNITS.get(words.take_of(UNITS)) if count is not None else None
        if count is None or unit is None:
            return None
        seconds += count * unit
        if not words.take_joint() and not (words.next.isdecimal() and words.ahead(1) in UNITS):
            return timedelta(seconds=seconds)


# --- days and times -------------------------------------------------------------------------


def _local(
    words: Words, text: str, *, today: datetime, near: datetime, zone: Zone, ahead: bool
) -> datetime:
    """Read a day, a time of day, or both in either order; days without a direction are near."""
    at = words.take_time(bare=bool(words.take("at")))
    words.take(",")
    words.take("on")
    days = _days(words, _day_of(today, zone), _day_of(near, zone))
    if at is None and days is not None:
        words.take(",")
        spoken = bool(words.take("at"))
        at = words.take_time(bare=True)
        if spoken and at is None:
            raise not_understood(text, words, EXAMPLES)
    if words.next or (days is None and at is None):
        raise not_understood(text, words, EXAMPLES)
    fixed, candidates = days or (False, _around(_day_of(near, zone), range(-1, 2)))
    if fixed:
        return _instant(candidates[0], at, zone)
    return _nearest(candidates, at, near=near, zone=zone, ahead=ahead)


def _day_of(moment: datetime, zone: Zone) -> date:
    return moment.astimezone(zone.info).date()


def _around(today: date, shifts: range) -> list[date]:
    return [today + timedelta(days=shift) for shift in shifts]


def _days(words: Words, today: date, near: date) -> tuple[bool, list[date]] | None:
    """Take a day; return the days that it may mean, and whether it is one of them for sure."""
    relative = words.take_of(_RELATIVE_DAYS)
    if relative:
        return True, [today + timedelta(days=_RELATIVE_DAYS[relative])]
    if re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", words.next):
        year, month, day = (int(part) for part in words.next.split("-"))
        words.at += 1
        return True, [_date(year, month, day)]
    if words.next in ("next", "last", "this", "past") or words.next in WEEKDAYS:
        return _weekday(words, today, near)
    return _month_and_day(words, near)


def _weekday(words: Words, today: date, near: date) -> tuple[bool, list[date]] | None:
    which = words.take("next", "last", "this", "past")
    name = words.take_of(WEEKDAYS)
    if not name:
        return None
    first = near if which in ("", "this") else today
    fits = [day for day in _around(first, range(-_WEEK, _WEEK + 1)) if _is(day, WEEKDAYS[name])]
    if which == "next":
        return True, [day for day in fits if day > today][:1]
    if which in ("last", "past"):
        return True, [day for day in fits if day < today][-1:]
    return False, fits


def _is(day: date, weekday: int) -> bool:
    return day.isoweekday() % 7 == weekday


def _month_and_day(words: Words, near: date) -> tuple[bool, list[date]] | None:
    """Take "1 december", "december 1st", each with or without a year."""
    begin = words.at
    day = _day_number(words)
    words.take("of")
    month = MONTHS.get(words.take_of(MONTHS))
    if day is None and month is not None:
        day = _day_number(words)
    if day is None or month is None:
        words.at = begin
        return None
    comma = words.take(",")
    if re.fullmatch(r"\d{4}", words.next):
        return True, [_date(int(words.next), month, day, taken=words)]
    if comma:
        words.at -= 1
    years = range(near.year - _YEARS, near.year + _YEARS + 1)
    found = [one for year in years if (one := _date_or_none(year, month, day))]
    if not found:
        raise PlainTimeError(f"Month {month} has no day {day}.")
    return False, found


def _day_number(words: Words) -> int | None:
    if words.next in ("first", "last", "second") or not words.next[:1].isdecimal():
        return None
    return words.take_ordinal() or words.take_number()


def _date(year: int, month: int, day: int, *, taken: Words | None = None) -> date:
    if taken is not None:
        taken.at += 1
    found = _date_or_none(year, month, day)
    if found is None or not 1970 <= year < 2200:
        raise PlainTimeError(
            f"There is no day {year}-{month:02d}-{day:02d} between the years 1970 and 2199."
        )
    return found


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# --- to instants ----------------------------------------------------------------------------


def _nearest(
    candidates: list[date], at: Clock | None, *, near: datetime, zone: Zone, ahead: bool
) -> datetime:
    """Return the first instant behind the near one, or the last one up to it."""
    keep: Callable[[datetime], bool] = (
        (lambda one: one > near) if ahead else (lambda one: one <= near)
    )
    fitting = [day for day in candidates if keep(_placed(day, at, zone)[0])]
    if not fitting:
        raise PlainTimeError("There is no such day within four years.")
    return _instant(fitting[0] if ahead else fitting[-1], at, zone)


def _placed(
    day: date, at: Clock | None, zone: Zone, overlap: str = "first", gap: str = "next_valid"
) -> tuple[datetime, tuple[str, ...]]:
    wall = (day - _FIRST_DAY).days * _DAY_SECONDS + (at.seconds if at else 0)
    placed = place(zone, wall, LocalRules(gap=gap, overlap=overlap, step=60))
    if placed is None:
        raise PlainTimeError(f"{day} is outside of the years 1970 to 2199.")
    return EPOCH + timedelta(seconds=placed[0]), placed[1]


def _instant(day: date, at: Clock | None, zone: Zone) -> datetime:
    """Return the one instant of a local time; refuse one that is skipped or occurs twice.

    The begin of a day whose midnight is skipped or repeated is its first instant.
    """
    moment, notes = _placed(day, at, zone)
    if at is None or not notes:
        return moment.astimezone(UTC)
    if DST_OVERLAP in notes:
        second = _placed(day, at, zone, overlap="second")[0]
        raise PlainTimeError(
            f"{at} occurs twice on {day} in {zone.name} (clocks go back). "
            f"Write {_offset_text(moment, zone)} or {_offset_text(second, zone)}."
        )
    before = _placed(day, at, zone, gap="before")[0]
    raise PlainTimeError(
        f"{at} does not exist on {day} in {zone.name}: the clocks skip it. "
        f"Write {_offset_text(before, zone)} or {_offset_text(moment, zone)}."
    )


def _offset_text(moment: datetime, zone: Zone) -> str:
    return moment.astimezone(zone.info).isoformat(timespec="seconds")
