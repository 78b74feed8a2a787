"""A recurring schedule in plain words, as the fields that the product already has.

``every weekday at 9`` becomes a cron expression, ``every 7 minutes`` an interval. Understands what
`tasks.schedules.describe` writes of the schedules that it makes, so that words and fields agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from shared.durations import format_iso
from shared.instants import format_instant
from tasks.plain_times.moments import read_moment
from tasks.plain_times.times_of_day import TimesOfDay
from tasks.plain_times.vocabulary import (
    MONTHS,
    UNITS,
    WEEKDAYS,
    WEEKDAYS_OFTEN,
    PlainTimeError,
    Words,
    not_understood,
    split,
)
from tasks.schedules.zones import Zone

EXAMPLES = (
    "every weekday at 9",
    "every 15 minutes",
    "every day at 8:30",
    "every monday and thursday at 8:30",
    "last friday of the month 18:00",
    "first day of the month at 6",
    "last day of the month at 23:00",
    "first working day of the month at 6",
    "every hour",
    "every 2 hours on weekdays",
    "every hour at 15 minutes past",
    "1st and 15th of the month at 6",
    "first day of the quarter at 6",
    "every 24 december at 18:00",
    "every 7 minutes",
    "daily at noon",
)
_OFTEN = ("every", "each")
_KINDS_OF_DAY = ("day", "weekday", "working", "business")
#: A step that divides its unit evenly stays on the clock: 00, 15, 30, 45.
_ON_THE_CLOCK = {1: 60, 60: 60, 3_600: 24}
_QUARTERS = (1, 4, 7, 10)
_DAY, _WEEK = 86_400, 604_800


@dataclass(slots=True)
class _Found:
    """What the words have said so far."""

    times: TimesOfDay = field(default_factory=TimesOfDay)
    #: A rate in seconds, and its unit.
    step: tuple[int, int] | None = None
    daily: bool = False
    weekdays: set[int] = field(default_factory=set)
    #: Items of the day-of-month field, and of the day-of-week field: 5#1, 5L.
    days: list[str] = field(default_factory=list)
    nth_weekdays: list[str] = field(default_factory=list)
    working_day: int | None = None
    months: set[int] = field(default_factory=set)
    #: The words name the month: "of the month", "monthly", or months by name.
    monthly: bool = False


def read_recurrence(text: str, *, now: datetime, zone: Zone) -> dict[str, Any]:
    """Return the fields of a schedule, its zone among them; raise PlainTimeError.

    The text may end with "from" and "until" a moment, and with a zone.
    """
    words, zone = split(text, zone)
    found = _Found()
    bounds: dict[str, Any] = {}
    while words.next:
        begin = words.at
        if words.take("from", "starting", "until", "till"):
            words.at = begin
            bounds = _bounds(words, now, zone)
            break
        if not any(rule(words, found) for rule in _RULES):
            words.at = begin
            raise not_understood(text, words, EXAMPLES)
        words.take_joint()
    return {**_fields(found, text, bounds), "timezone": zone.name, **bounds}


def _bounds(words: Words, now: datetime, zone: Zone) -> dict[str, Any]:
    """Read "from … until …", each with a moment."""
    rest, _, end = words.rest().replace(" till ", " until ").partition("until ")
    found = {}
    begin = rest.removeprefix("from ").removeprefix("starting ").rstrip(", ")
    if begin.strip():
        found["start_at"] = format_instant(read_moment(begin, now=now, zone=zone, ahead=True))
    if end:
        found["end_at"] = format_instant(read_moment(end, now=now, zone=zone, ahead=True))
    return found


# --- the rules: each takes the words it knows and returns whether it did ----------------------


def _rate(words: Words, found: _Found) -> bool:
    """Take "every 15 minutes", "every hour", "hourly"."""
    if words.take("hourly"):
        found.step = (3_600, 3_600)
        return True
    begin = words.at
    if not words.take_of(_OFTEN):
        return False
    seconds, smallest = 0, _WEEK
    while True:
        # "every second friday" counts Fridays.
        counts_days = words.next == "second" and words.ahead(1) in (*WEEKDAYS, *_KINDS_OF_DAY)
        count = None if counts_days else words.take_number()
        unit = None if counts_days else UNITS.get(words.take_of(UNITS))
        if not unit or count == 0 or (count is None and (unit >= _DAY or seconds)):
            words.at = begin
            return False
        seconds, smallest = seconds + (count or 1) * unit, min(smallest, unit)
        words.take("and")
        if words.ahead(1) not in UNITS:
            break
    found.step = (seconds, smallest)
    return True


def _past_the_hour(words: Words, found: _Found) -> bool:
    """Take "at 15 and 45 minutes past the hour", "at :15"."""
    begin = words.at
    words.take("at")
    if words.next.startswith(":") and words.next[1:].isdecimal():
        found.times.minutes_past = [_minute(int(words.next[1:]))]
        words.at += 1
        return True
    minutes: list[int] = []
    while (number := words.take_number()) is not None:
        minutes.append(number)
        words.take_joint()
    if not minutes or not words.take("minutes", "minute") or not words.take("past"):
        words.at = begin
        return False
    words.take_of(_OFTEN)
    words.take("hour")
    found.times.minutes_past = sorted({_minute(minute) for minute in minutes})
    return True


def _minute(minute: int) -> int:
    if minute > 59:
        raise PlainTimeError(f"An hour has no minute {minute}; the last one is 59.")
    return minute


def _times(words: Words, found: _Found) -> bool:
    """Take "at 9", "9:00 and 17:00", "at noon"."""
    begin = words.at
    bare = bool(words.take("at"))
    taken = False
    # A bare number counts after "at" and as a further item of its list, or behind all days.
    while True:
        last = words.at
        if words.next in MONTHS or words.ahead(1) in MONTHS or words.ahead(1) in UNITS:
            break
        clock = words.take_time(bare=bare or _is_last(words))
        if clock is None:
            break
        taken, bare = True, True
        found.times.clocks.add(clock)
        last = words.at
        if not words.take_joint():
            break
    words.at = last if taken else begin
    return taken


def _is_last(words: Words) -> bool:
    return not words.ahead(1)


def _weekdays(words: Words, found: _Found) -> bool:
    """Take "every monday and thursday", "mondays", "monday to friday", "weekdays"."""
    begin = words.at
    if not words.take("weekly"):
        words.take_of(_OFTEN)
        words.take("week")
    words.take("on")
    taken = False
    while True:
        last = words.at
        days = _weekday_item(words)
        if not days:
            break
        taken = True
        found.weekdays |= days
        last = words.at
        if not words.take_joint():
            break
        words.take_of(_OFTEN)
    words.at = last if taken else begin
    return taken


def _weekday_item(words: Words) -> set[int]:
    if words.take("weekday", "weekdays"):
        return {1, 2, 3, 4, 5}
    if words.take("weekend", "weekends"):
        return {0, 6}
    names = {**WEEKDAYS, **WEEKDAYS_OFTEN}
    name = words.take_of(names)
    if not name:
        return set()
    first = names[name]
    if not words.take("to", "through", "-"):
        return {first}
    last = names.get(words.take_of(names))
    if last is None:
        return set()
    return {(first + count) % 7 for count in range((last - first) % 7 + 1)}


def _every_day(words: Words, found: _Found) -> bool:
    """Take "every day", "daily"."""
    if words.take("daily"):
        found.daily = True
        return True
    begin = words.at
    if words.take_of(_OFTEN) and words.take("day") and not words.take("of"):
        found.daily = True
        return True
    words.at = begin
    return False


def _of_month(words: Words, found: _Found) -> bool:
    """Take "first day", "last friday", "1st and 15th", "day 1 and 15", of a month."""
    begin = words.at
    monthly = words.take("monthly") or (words.take_of(_OFTEN) and words.take("month"))
    words.take("on")
    is_day = bool(words.take("day", "days"))
    items: list[int] = []
    last = words.at
    while True:
        item = words.take_number() if is_day else words.take_ordinal()
        if item is None:
            break
        items.append(item)
        last = words.at
        if not words.take_joint():
            break
    words.at = last
    if not items or words.next in MONTHS:
        words.at = begin
        return False
    if not is_day and words.take("last"):
        items = [-item for item in items]
    kind = "day" if is_day else _kind_of_day(words)
    _note_days(found, items, kind)
    found.monthly = found.monthly or bool(monthly)
    return True


def _kind_of_day(words: Words) -> str:
    if words.take("working", "business"):
        return "working" if words.take("day") else ""
    return words.take("day", "weekday") or words.take_of(WEEKDAYS) or "day"


def _note_days(found: _Found, items: list[int], kind: str) -> None:
    if kind == "working" and len(items) == 1:
        found.working_day = items[0]
        return
    for item in items:
        if kind in WEEKDAYS:
            if not 1 <= item <= 5 and item != -1:
                raise PlainTimeError("A weekday comes at most five times in a month.")
            which = "L" if item == -1 else f"#{item}"
            found.nth_weekdays.append(f"{WEEKDAYS[kind]}{which}")
        elif kind == "weekday" and item in (1, -1):
            found.days.append("1W" if item == 1 else "LW")
        elif kind == "day" and (1 <= item <= 31 or item == -1):
            found.days.append("L" if item == -1 else str(item))
        else:
            raise PlainTimeError(
                "A day of the month is 1 to 31 or the last; of working days and weekdays give one."
            )


def _months(words: Words, found: _Found) -> bool:
    """Take "of the month", "of every quarter", "in january and july", "24 december"."""
    if words.take("monthly", "month"):
        found.monthly = True
        return True
    begin = words.at
    words.take("of", "in")
    if not words.take("yearly", "annually") and words.take_of(_OFTEN):
        if _month_step(words, found):
            return True
        words.take("year")
    words.take("on")
    if words.take("month"):
        found.monthly = True
        return True
    if words.take("quarter"):
        found.monthly = True
        found.months |= set(_QUARTERS)
        return True
    return _named_months(words, found, begin)


def _month_step(words: Words, found: _Found) -> bool:
    """Take "3 months" behind "every"."""
    begin = words.at
    count = words.take_number()
    if count is None or not words.take("months"):
        words.at = begin
        return False
    if count not in (2, 3, 4, 6):
        raise PlainTimeError("A step of months divides the year evenly: 2, 3, 4 or 6 months.")
    found.monthly = True
    found.months |= set(range(1, 13, count))
    words.take("on")
    return True


def _named_months(words: Words, found: _Found, begin: int) -> bool:
    day = words.take_ordinal() or words.take_number()
    taken = False
    while month := words.take_of(MONTHS):
        taken = True
        found.months.add(MONTHS[month])
        last = words.at
        words.take_joint()
        if words.next not in MONTHS:
            words.at = last
    if not taken:
        words.at = begin
        return False
    found.monthly = True
    if day is None and words.next.isdecimal() and not words.ahead(1).startswith("min"):
        day = words.take_number()
    if day is not None:
        _note_days(found, [day], "day")
    return True


_RULES: tuple[Callable[[Words, _Found], bool], ...] = (
    _rate,
    _past_the_hour,
    _of_month,
    _every_day,
    _weekdays,
    _months,
    _times,
)


# --- to fields -------------------------------------------------------------------------------


def _fields(found: _Found, text: str, bounds: dict[str, Any]) -> dict[str, Any]:
    _check(found, text)
    if found.step is not None and not found.times.minutes_past:
        return _of_rate(found, bounds)
    if not found.times:
        raise PlainTimeError(
            f"{text.strip()!r} has no time of day. Add one, like 'at 9' or 'at 8:30'."
        )
    fields: dict[str, Any] = {"cron_expression": f"{found.times.cron()} {_day_fields(found)}"}
    if found.working_day is not None:
        fields["working_day"] = found.working_day
    return fields


def _check(found: _Found, text: str) -> None:
    by_date = bool(found.days) or found.working_day is not None
    kinds = (by_date, bool(found.nth_weekdays), bool(found.weekdays))
    if sum(kinds) > 1 or (found.daily and any(kinds)):
        raise PlainTimeError(
            f"{text.strip()!r} names days in two ways, and a schedule has one. Make two tasks, or "
            "write a cron expression."
        )
    if (by_date or found.nth_weekdays) and not found.monthly:
        raise PlainTimeError(
            f"{text.strip()!r} does not say of which month. Add 'of the month', or months by name."
        )
    if not (any(kinds) or found.daily or found.step or found.times.minutes_past):
        raise PlainTimeError(
            f"{text.strip()!r} has no day. Write it like 'every day at 9' or 'first day of the "
            "month at 6'."
        )
    if found.step and (found.times.clocks or by_date or found.nth_weekdays):
        raise PlainTimeError(
            f"{text.strip()!r} has a rate and a time of its own, and a schedule has one of them."
        )


def _of_rate(found: _Found, bounds: dict[str, Any]) -> dict[str, Any]:
    assert found.step is not None
    seconds, unit = found.step
    size = _ON_THE_CLOCK.get(unit, 0)
    count = seconds // unit
    aligned = bool(size) and size % count == 0 and count < size and "start_at" not in bounds
    narrowed = bool(found.weekdays or found.months)
    if aligned:
        step = "*" if count == 1 else f"*/{count}"
        place = {1: f"{step} * *", 60: f"{step} *", 3_600: f"0 {step}"}[unit]
        return {"cron_expression": f"{place} {_day_fields(found)}"}
    if narrowed:
        raise PlainTimeError(
            "A rate on certain days needs a step that divides its unit evenly, such as 10, 15, 20 "
            "or 30 minutes, or 2, 3, 4, 6, 8 or 12 hours, and no begin of its own."
        )
    return {"every": format_iso(timedelta(seconds=seconds))}


def _day_fields(found: _Found) -> str:
    days = ",".join(found.days) or "*"
    months = ",".join(map(str, sorted(found.months))) or "*"
    weekdays = ",".join(found.nth_weekdays) or _span(sorted(found.weekdays)) or "*"
    return f"{days} {months} {weekdays}"


def _span(numbers: list[int]) -> str:
    """Return '1-5' for three numbers or more without a gap, else a list."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers))
