"""A recurring schedule in plain words, as the fields that the product already has.

``every weekday at 9`` becomes a cron expression, ``every 7 minutes`` an interval. Understands what
`tasks.schedules.describe` writes of the schedules that it makes, so that words and fields agree.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from shared.durations import format_iso
from shared.instants import format_instant
from tasks.plain_times.moments import read_moment
from tasks.plain_times.recurrence_rules import BEGINS, ENDS, RULES, Found
from tasks.plain_times.vocabulary import PlainTimeError, Words, not_understood, split
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
#: A step that divides its unit evenly stays on the clock: 00, 15, 30, 45.
_HOUR = 3_600
_ON_THE_CLOCK = {1: 60, 60: 60, _HOUR: 24}
_FIRST_OF_QUARTERS, _LAST_OF_QUARTERS = (1, 4, 7, 10), (3, 6, 9, 12)


def read_recurrence(text: str, *, now: datetime, zone: Zone) -> dict[str, Any]:
    """Return the fields of a schedule that say when; raise PlainTimeError.

    The text may end with "from" and "until" a moment, read in ``zone`` or the one that it names.
    """
    words, zone = split(text, zone)
    found = Found()
    bounds: dict[str, Any] = {}
    while words.next:
        begin = words.at
        if words.take_of((*BEGINS, *ENDS)):
            words.at = begin
            bounds = _bounds(words, text, now, zone)
            break
        if not any(rule(words, found) for rule in RULES):
            words.at = begin
            raise not_understood(text, words, EXAMPLES)
        words.take_joint()
    if words.since(words.at - 1) == "and":
        words.at -= 1
        raise not_understood(text, words, EXAMPLES)
    return {**_fields(found, text, bounds), **bounds}


def _bounds(words: Words, text: str, now: datetime, zone: Zone) -> dict[str, Any]:
    """Read "from … until …", each with a moment; the end is behind the begin where it may be."""
    parts: dict[str, str] = {}
    while words.next:
        begin = words.at
        name = "start_at" if words.take_of(BEGINS) else "end_at"
        words.take_of(ENDS)
        part = words.take_until((*BEGINS, *ENDS))
        if not part or name in parts:
            words.at = begin
            raise not_understood(text, words, EXAMPLES)
        parts[name] = part
    found: dict[str, Any] = {}
    after = now
    for name in ("start_at", "end_at"):
        if name in parts:
            after = read_moment(parts[name], now=now, zone=zone, ahead=True, after=after)
            found[name] = format_instant(after)
    return found


def _fields(found: Found, text: str, bounds: dict[str, Any]) -> dict[str, Any]:
    _check(found, text)
    if found.quarterly:
        _place_in_quarter(found, text)
    if found.step is not None and not found.times.minutes_past:
        return _of_rate(found.step, found, bounds)
    if not found.times:
        raise PlainTimeError(
            f"{text.strip()!r} has no time of day. Add one, like 'at 9' or 'at 8:30'."
        )
    times = found.times.cron(_hours_of(found.step))
    fields: dict[str, Any] = {"cron_expression": f"{times} {_day_fields(found)}"}
    if found.working_day is not None:
        fields["working_day"] = found.working_day
    return fields


def _hours_of(step: tuple[int, int] | None) -> int:
    """Return the hours of a rate beside minutes past the hour; raise PlainTimeError."""
    hours, rest = divmod(step[0] if step else _HOUR, _HOUR)
    if rest or hours >= _ON_THE_CLOCK[_HOUR] or _ON_THE_CLOCK[_HOUR] % hours:
        raise PlainTimeError(
            "Minutes past the hour go with every hour, or every 2, 3, 4, 6, 8 or 12 hours."
        )
    return hours


def _place_in_quarter(found: Found, text: str) -> None:
    """Give the months of days of the quarter: its first ones, or its last ones for last days."""
    days: list[tuple[bool, bool]] = [  # counts from the end, is surely of the month at the end
        *((day in ("L", "LW"), day in ("L", "LW", "1W") or int(day) <= 28) for day in found.days),
        *((day.endswith("L"), not day.endswith("#5")) for day in found.nth_weekdays),
    ]
    if found.working_day is not None:
        days.append((found.working_day < 0, abs(found.working_day) <= 15))
    from_end = {is_last for is_last, _ in days}
    if len(from_end) != 1 or found.months or not all(sure for _, sure in days):
        raise PlainTimeError(
            f"{text.strip()!r} does not say one day of the quarter. Write it like 'first day of "
            "the quarter', 'last friday of the quarter' or 'last day of the quarter'."
        )
    found.months |= set(_LAST_OF_QUARTERS if from_end.pop() else _FIRST_OF_QUARTERS)


def _check(found: Found, text: str) -> None:
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
    if found.each_month and not (by_date or found.nth_weekdays):
        raise PlainTimeError(
            f"{text.strip()!r} has no day of the month. Add one, like 'on the 1st' or 'first "
            "monday of the month'."
        )
    if found.is_paired:
        raise PlainTimeError(
            f"{text.strip()!r} gives days times or months of their own, and a schedule has every "
            "time on every day. Make two tasks."
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


def _of_rate(step: tuple[int, int], found: Found, bounds: dict[str, Any]) -> dict[str, Any]:
    seconds, unit = step
    size = _ON_THE_CLOCK.get(unit, 0)
    count = seconds // unit
    aligned = bool(size) and size % count == 0 and count < size and "start_at" not in bounds
    narrowed = bool(found.weekdays or found.months)
    if aligned:
        each = "*" if count == 1 else f"*/{count}"
        place = {1: f"{each} * *", 60: f"{each} *", 3_600: f"0 {each}"}[unit]
        return {"cron_expression": f"{place} {_day_fields(found)}"}
    if narrowed:
        raise PlainTimeError(
            "A rate on certain days needs a step that divides its unit evenly, such as 10, 15, 20 "
            "or 30 minutes, or 2, 3, 4, 6, 8 or 12 hours, and no begin of its own."
        )
    return {"every": format_iso(timedelta(seconds=seconds))}


def _day_fields(found: Found) -> str:
    days = ",".join(dict.fromkeys(found.days)) or "*"
    months = ",".join(map(str, sorted(found.months))) or "*"
    weekdays = ",".join(dict.fromkeys(found.nth_weekdays)) or _span(sorted(found.weekdays)) or "*"
    return f"{days} {months} {weekdays}"


def _span(numbers: list[int]) -> str:
    """Return '1-5' for three numbers or more without a gap, else a list."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers))
