"""Recurrence rules of iCalendar (RFC 5545), expanded to days within a range, at a bounded cost.

A library would look for the next day of a rule that has none for as long as there are years; here
every day that is looked at is taken from a budget. Rules that repeat within a day, and by number
of the week, are not read.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date

_WEEKDAYS = {"MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6, "SU": 7}
_FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")
_WITHIN_A_DAY = ("HOURLY", "MINUTELY", "SECONDLY")
_NUMBER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_LIST = 400
_LAST_ORDINAL = date(9999, 12, 31).toordinal()


class RuleNotRead(ValueError):
    """The rule is of a kind that is not read; the message says which."""


class RuleBroken(ValueError):
    """The rule is not written as RFC 5545 says."""


class BudgetSpent(Exception):
    """So many days were looked at that the rest is left out."""


@dataclass(slots=True)
class Budget:
    """How many days may still be looked at."""

    days: int

    def take(self, count: int) -> None:
        """Take days; raise BudgetSpent when there are none left."""
        self.days -= count
        if self.days < 0:
            raise BudgetSpent


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, read; ``until`` is the raw text, which only its event can understand."""

    frequency: str
    interval: int = 1
    count: int | None = None
    until: str = ""
    week_start: int = 1
    months: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    year_days: frozenset[int] = frozenset()
    #: (which, weekday); which is 0 for every one.
    weekdays: frozenset[tuple[int, int]] = field(default=frozenset())
    positions: tuple[int, ...] = ()


def read_rule(text: str) -> Rule:
    """Return the rule of a text; raise RuleNotRead or RuleBroken."""
    parts: dict[str, str] = {}
    for part in text.strip().upper().split(";"):
        key, sign, value = part.partition("=")
        if not sign or key in parts:
            raise RuleBroken(f"{part[:40]!r} is no part of a rule")
        parts[key] = value
    frequency = parts.pop("FREQ", "")
    if frequency in _WITHIN_A_DAY:
        raise RuleNotRead("it repeats within a day")
    if frequency not in _FREQUENCIES:
        raise RuleBroken("FREQ is missing or not known")
    read: dict[str, object] = {"frequency": frequency}
    for key, value in parts.items():
        reader = _READERS.get(key)
        if reader is None:
            raise RuleNotRead(f"its rule has {key[:40]}")
        name, parse = reader
        read[name] = parse(value)
    rule = Rule(**read)  # type: ignore[arg-type]  # each value is what its reader returns
    if any(which for which, _ in rule.weekdays) and frequency in ("WEEKLY", "DAILY"):
        raise RuleBroken("BYDAY cannot count weekdays of a week or day")
    return rule


def expand(rule: Rule, start: date, last: date, first: date, budget: Budget) -> Iterator[date]:
    """Yield the days of a rule from ``first`` to ``last``, oldest first; none before ``start``.

    Raise BudgetSpent when too many days had to be looked at.
    """
    rule = _with_defaults(rule, start)
    counted = 0
    for period in _periods(rule, start, first, last):
        budget.take(len(period))
        days = [day for day in map(date.fromordinal, period) if _matches(rule, day)]
        for day in _chosen(rule, days):
            if day < start:
                continue
            counted += 1
            if day > last or (rule.count is not None and counted > rule.count):
                return
            if day >= first:
                yield day


def _with_defaults(rule: Rule, start: date) -> Rule:
    """Return the rule with what it leaves to the first day."""
    if rule.year_days or rule.month_days or rule.weekdays or rule.frequency == "DAILY":
        return rule
    if rule.frequency == "WEEKLY":
        return _replaced(rule, weekdays=frozenset({(0, start.isoweekday())}))
    if rule.frequency == "YEARLY" and not rule.months:
        rule = _replaced(rule, months=frozenset({start.month}))
    return _replaced(rule, month_days=frozenset({start.day}))


def _replaced(rule: Rule, **parts: object) -> Rule:
    values = {name: getattr(rule, name) for name in Rule.__dataclass_fields__}
    return Rule(**{**values, **parts})


def _periods(rule: Rule, start: date, first: date, last: date) -> Iterator[range]:
    """Yield the days of each period that the rule looks at, as ordinals."""
    # Counting begins with the first day; otherwise what lies before the range is passed over.
    since = start if rule.count is not None else max(start, first)
    step = rule.interval
    if rule.frequency in ("DAILY", "WEEKLY"):
        length = 1 if rule.frequency == "DAILY" else 7
        origin = start.toordinal()
        if length == 7:
            origin -= (start.isoweekday() - rule.week_start) % 7
        passed = max(0, since.toordinal() - origin) // (length * step)
        for low in range(origin + passed * length * step, last.toordinal() + 1, length * step):
            yield range(max(1, low), min(low + length, _LAST_ORDINAL + 1))
        return
    months = 12 if rule.frequency == "YEARLY" else 1
    origin = start.year * 12 + (0 if months == 12 else start.month - 1)
    now = since.year * 12 + (0 if months == 12 else since.month - 1)
    passed = max(0, now - origin) // (months * step)
    for place in range(origin + passed * months * step, last.year * 12 + last.month, months * step):
        year, month = divmod(place, 12)
        low = date(year, month + 1, 1).toordinal()
        length = 365 + calendar.isleap(year) if months == 12 else _length(year, month + 1)
        yield range(low, low + length)


def _matches(rule: Rule, day: date) -> bool:
    if rule.months and day.month not in rule.months:
        return False
    if rule.month_days:
        back = day.day - _length(day.year, day.month) - 1
        if not {day.day, back} & rule.month_days:
            return False
    if rule.year_days:
        place = day.timetuple().tm_yday
        if not {place, place - 366 - calendar.isleap(day.year)} & rule.year_days:
            return False
    return not rule.weekdays or any(_is_nth(rule, day, *wanted) for wanted in rule.weekdays)


def _is_nth(rule: Rule, day: date, which: int, weekday: int) -> bool:
    if day.isoweekday() != weekday:
        return False
    if which == 0:
        return True
    if rule.frequency == "YEARLY" and not rule.months:
        place, length = day.timetuple().tm_yday, 365 + calendar.isleap(day.year)
    else:
        place, length = day.day, _length(day.year, day.month)
    nth = (place - 1) // 7 + 1 if which > 0 else -((length - place) // 7 + 1)
    return nth == which


def _chosen(rule: Rule, days: list[date]) -> list[date]:
    if not rule.positions:
        return days
    places = {place - 1 if place > 0 else len(days) + place for place in rule.positions}
    return [days[place] for place in sorted(places) if 0 <= place < len(days)]


def _length(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not _NUMBER.fullmatch(text) or not low <= int(text) <= high:
            raise RuleBroken(f"{text[:40]!r} is no number from {low} to {high}")
        return int(text)

    return read


def _numbers(most: int) -> Callable[[str], tuple[int, ...]]:
    one = _number(-most, most)

    def read(text: str) -> tuple[int, ...]:
        found = tuple(one(part) for part in text.split(",")[: _LIST + 1])
        if 0 in found or len(found) > _LIST:
            raise RuleBroken(f"{text[:40]!r} is no list of numbers from 1 to {most}")
        return found

    return read


def _set(most: int) -> Callable[[str], frozenset[int]]:
    read = _numbers(most)
    return lambda text: frozenset(read(text))


def _days(text: str) -> frozenset[tuple[int, int]]:
    found = set()
    for part in text.split(",")[:_LIST]:
        match = _DAY.fullmatch(part)
        if match is None or (match[1] and int(match[1]) == 0):
            raise RuleBroken(f"{part[:40]!r} is no weekday")
        found.add((int(match[1] or 0), _WEEKDAYS[match[2]]))
    return frozenset(found)


def _weekday(text: str) -> int:
    if text not in _WEEKDAYS:
        raise RuleBroken(f"{text[:40]!r} is no weekday")
    return _WEEKDAYS[text]


_READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "INTERVAL": ("interval", _number(1, 999_999_999)),
    "COUNT": ("count", _number(1, 999_999_999)),
    "UNTIL": ("until", str),
    "WKST": ("week_start", _weekday),
    "BYMONTH": ("months", _set(12)),
    "BYMONTHDAY": ("month_days", _set(31)),
    "BYYEARDAY": ("year_days", _set(366)),
    "BYDAY": ("weekdays", _days),
    "BYSETPOS": ("positions", _numbers(366)),
}
