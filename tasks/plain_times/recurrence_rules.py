"""The rules of a recurrence: each takes the words that it knows, and notes what they say.

`recurrences` tries them in the order of :data:`RULES` until the text has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.durations import DurationError, parse_duration
from tasks.plain_times.times_of_day import TimesOfDay
from tasks.plain_times.vocabulary import (
    MONTHS,
    UNITS,
    WEEKDAYS,
    WEEKDAYS_OFTEN,
    Clock,
    PlainTimeError,
    Words,
)

BEGINS, ENDS = ("from", "starting"), ("until", "till")
_OFTEN = ("every", "each")
_KINDS_OF_DAY = ("day", "weekday", "working", "business")
_MONTHS_TWICE = "Give a step of months, or months by name, not both."
DAY, _WEEK = 86_400, 604_800


@dataclass(slots=True)
class Found:
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
    #: "monthly", "every 3 months": a rate of months, which wants a day of the month.
    each_month: bool = False
    quarterly: bool = False
    #: What was said in the order of the words: the kind, then its items.
    said: list[tuple[str, set[object]]] = field(default_factory=list)

    def note(self, kind: str, *items: object) -> None:
        """Note items of a kind ("time", "day" or "month"); those side by side are one group."""
        if not self.said or self.said[-1][0] != kind:
            self.said.append((kind, set()))
        self.said[-1][1].update(items)

    @property
    def is_paired(self) -> bool:
        """Return whether two kinds differ from group to group: "monday at 9 and friday at 17".

        A schedule holds every time of every day of every month, so it cannot hold such pairs.
        """
        groups: dict[str, list[set[object]]] = {}
        for kind, items in self.said:
            groups.setdefault(kind, []).append(items)
        return sum(any(one != found[0] for one in found) for found in groups.values()) > 1


def _rate(words: Words, found: Found) -> bool:
    """Take "every 15 minutes", "every 1h30m", "every hour", "hourly"."""
    if words.take("hourly"):
        _note_step(found, 3_600, 3_600)
        return True
    begin = words.at
    if not words.take_of(_OFTEN):
        return False
    if short := _short(words):
        _note_step(found, *short)
        return True
    seconds, smallest = 0, _WEEK
    while True:
        # "every second friday" counts Fridays.
        counts_days = words.next == "second" and words.ahead(1) in (*WEEKDAYS, *_KINDS_OF_DAY)
        count = None if counts_days else words.take_number()
        unit = None if counts_days else UNITS.get(words.take_of(UNITS))
        # "every day" wants a time of day, unless it counts from a begin.
        is_rate = unit is not None and (unit < DAY or words.next in BEGINS)
        if not unit or count == 0 or (count is None and (seconds or not is_rate)):
            words.at = begin
            return False
        seconds, smallest = seconds + (count or 1) * unit, min(smallest, unit)
        words.take("and")
        if words.ahead(1) not in UNITS:
            break
    _note_step(found, seconds, smallest)
    return True


def _short(words: Words) -> tuple[int, int] | None:
    """Take "15m", "1h30m" or "PT15M"; return its seconds and its last unit."""
    try:
        seconds = int(parse_duration(words.next).total_seconds())
    except DurationError:
        return None
    if not seconds:
        return None
    unit = UNITS[words.next[-1]]
    words.at += 1
    return seconds, unit


def _note_step(found: Found, seconds: int, unit: int) -> None:
    if found.step is not None:
        raise PlainTimeError("A schedule has one rate. Make two tasks.")
    found.step = (seconds, unit)


def _past_the_hour(words: Words, found: Found) -> bool:
    """Take "at 15 and 45 minutes past the hour", "at :15"."""
    begin = words.at
    words.take("at")
    if words.next.startswith(":") and words.next[1:].isdecimal():
        _note_minutes(found, [int(words.next[1:])])
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
    _note_minutes(found, minutes)
    return True


def _note_minutes(found: Found, minutes: list[int]) -> None:
    if max(minutes) > 59:
        raise PlainTimeError(f"An hour has no minute {max(minutes)}; the last one is 59.")
    found.times.minutes_past = sorted({*found.times.minutes_past, *minutes})
    found.note("time", *(f":{minute}" for minute in minutes))


def _times(words: Words, found: Found) -> bool:
    """Take "at 9", "9:00 and 17:00", "at noon"."""
    begin = words.at
    bare = bool(words.take("at"))
    taken: dict[Clock, str] = {}
    # A bare number counts after "at" and as a further item of its list, or behind all days.
    while True:
        last = words.at
        if words.next in MONTHS or words.ahead(1) in MONTHS or words.ahead(1) in UNITS:
            break
        clock = words.take_time(bare=bare or _is_last(words))
        if clock is None:
            break
        bare = True
        taken[clock] = words.since(last)
        last = words.at
        if not words.take_joint():
            break
    words.at = last if taken else begin
    if taken:
        _note_clocks(found, taken)
    return bool(taken)


def _is_last(words: Words) -> bool:
    return not words.ahead(1)


def _note_clocks(found: Found, taken: dict[Clock, str]) -> None:
    """Note times of day, each with its words; refuse "9 and 10 pm", which has two meanings."""
    halves = [text for text in taken.values() if text.endswith(("am", "pm"))]
    unclear = [
        text
        for clock, text in taken.items()
        if text[0].isdecimal() and text not in halves and 1 <= clock.hour <= 12
    ]
    if halves and unclear:
        raise PlainTimeError(
            f"Write am or pm behind each time: {unclear[0]!r} may be of either half of the day."
        )
    found.times.clocks |= taken.keys()
    found.note("time", *taken)


def _weekdays(words: Words, found: Found) -> bool:
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
        found.note("day", *days)
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


def _every_day(words: Words, found: Found) -> bool:
    """Take "every day", "daily"."""
    begin = words.at
    if words.take("daily") or (
        words.take_of(_OFTEN) and words.take("day") and not words.take("of")
    ):
        found.daily = True
        found.note("day", "daily")
        return True
    words.at = begin
    return False


def _of_month(words: Words, found: Found) -> bool:
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


def _note_days(found: Found, items: list[int], kind: str) -> None:
    found.note("day", *((kind, item) for item in items))
    if kind == "working" and len(items) == 1 and found.working_day in (None, items[0]):
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


def _months(words: Words, found: Found) -> bool:
    """Take "of the month", "of every quarter", "in january and july", "24 december"."""
    begin = words.at
    is_joined = bool(words.take("of", "in"))
    if words.take("monthly"):
        return _note_each_month(found, is_joined=is_joined)
    each = "" if words.take("yearly", "annually") else words.take_of(_OFTEN)
    if each and _month_step(words, found):
        return True
    if each:
        words.take("year")
    words.take("on")
    if words.take("month"):
        return _note_each_month(found, is_joined=is_joined)
    # "The second quarter" is no day.
    if (is_joined or each) and words.take("quarter"):
        found.monthly = found.quarterly = True
        return True
    return _named_months(words, found, begin)


def _note_each_month(found: Found, *, is_joined: bool) -> bool:
    found.monthly = True
    found.each_month = found.each_month or not is_joined
    return True


def _month_step(words: Words, found: Found) -> bool:
    """Take "3 months" behind "every"."""
    begin = words.at
    count = words.take_number()
    if count is None or not words.take("months"):
        words.at = begin
        return False
    if count not in (2, 3, 4, 6):
        raise PlainTimeError("A step of months divides the year evenly: 2, 3, 4 or 6 months.")
    if found.months:
        raise PlainTimeError(_MONTHS_TWICE)
    _note_months(found, *range(1, 13, count))
    words.take("on")
    return _note_each_month(found, is_joined=False)


def _note_months(found: Found, *months: int) -> None:
    if found.each_month and found.months:
        raise PlainTimeError(_MONTHS_TWICE)
    found.monthly = True
    found.months.update(months)
    found.note("month", *months)


def _named_months(words: Words, found: Found, begin: int) -> bool:
    day = words.take_ordinal() or words.take_number()
    months: list[int] = []
    while month := words.take_of(MONTHS):
        months.append(MONTHS[month])
        last = words.at
        words.take_joint()
        if words.next not in MONTHS:
            words.at = last
    if not months:
        words.at = begin
        return False
    _note_months(found, *months)
    if day is None and words.next.isdecimal() and not words.ahead(1).startswith("min"):
        day = words.take_number()
    if day is not None:
        _note_days(found, [day], "day")
    return True


RULES: tuple[Callable[[Words, Found], bool], ...] = (
    _rate,
    _past_the_hour,
    _of_month,
    _every_day,
    _weekdays,
    _months,
    _times,
)
