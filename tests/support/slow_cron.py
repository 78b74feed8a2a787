"""A slow, independent reading of cron in a zone: walks instants one by one and asks zoneinfo.

Shares no code with `tasks.schedules` and works otherwise: it knows no stretches of constant
offset. It maps each minute (with a seconds field: each second) to its local time, looks which
local times come once, twice or never, and applies the rules to those. Understands the whole
dialect but `H`, whose values only the product's hash can tell.
"""

from __future__ import annotations

import functools
import re
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

DAY = 86_400
_ONE_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_MONTHS = dict(
    zip("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), range(1, 13), strict=True)
)
_WEEKDAYS = dict(zip("SUN MON TUE WED THU FRI SAT".split(), range(7), strict=True))
_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True)
class Line:
    """A cron expression, split into its texts."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    day: str
    month: str
    weekday: str
    fixed: bool
    has_seconds: bool

    @property
    def unit(self) -> int:
        """The seconds between two instants that have to be looked at."""
        return 1 if self.has_seconds else 60

    def matches(self, minute: int) -> bool:
        """Tell whether a wall-clock minute, given by its first second since 1970, matches."""
        day, second = divmod(minute, DAY)
        return (
            second // 60 % 60 in self.minutes
            and second // 3600 in self.hours
            and day_matches(self.day, self.month, self.weekday, day)
        )


@functools.lru_cache(maxsize=1024)
def read(expression: str) -> Line:
    """Split an expression that is known to be valid."""
    parts = _WORDS.get(expression, expression).upper().split()
    has_seconds = len(parts) == 6
    second, minute, hour, day, month, weekday = parts if has_seconds else ["0", *parts]
    return Line(
        seconds=_numbers(second, 0, 59),
        minutes=_numbers(minute, 0, 59),
        hours=_numbers(hour, 0, 23),
        day=day,
        month=month,
        weekday=weekday,
        fixed=not any(mark in second + minute + hour for mark in "*/"),
        has_seconds=has_seconds,
    )


# --- dates ---------------------------------------------------------------------------------


@functools.lru_cache(maxsize=500_000)
def day_matches(day: str, month: str, weekday: str, number: int) -> bool:
    """Tell whether the date of this many days since 1970 matches the three fields."""
    found = _FIRST_DAY + number * _ONE_DAY
    if found.month not in _numbers(_named(month, _MONTHS), 1, 12):
        return False
    by_day = any(_is_day(item, found) for item in day.split(","))
    by_weekday = any(_is_weekday(_named(item, _WEEKDAYS), found) for item in weekday.split(","))
    if day[0] in "*?" or weekday[0] in "*?":
        return by_day and by_weekday
    return by_day or by_weekday


def _is_day(item: str, found: date) -> bool:
    if item == "L":
        return (found + _ONE_DAY).month != found.month
    if item.startswith("L-"):
        back = int(item[2:]) * _ONE_DAY
        return (found + back).month == found.month and (
            found + back + _ONE_DAY
        ).month != found.month
    if item in ("LW", "WL"):
        return found == max(_workdays(found))
    if "W" in item:
        wanted = min(int(item.replace("W", "")), max(_days(found)).day)
        return found == min(_workdays(found), key=lambda other: abs(other.day - wanted))
    return found.day in _numbers(item, 1, 31)


def _is_weekday(item: str, found: date) -> bool:
    if "#" in item:
        weekday, nth = item.split("#")
        return _weekday(found) == int(weekday) % 7 and (found.day - 1) // 7 + 1 == int(nth)
    if "L" in item:
        last = (found + 7 * _ONE_DAY).month != found.month
        return _weekday(found) == int(item.replace("L", "")) % 7 and last
    span, _, step = item.partition("/")
    first, dash, last_text = span.partition("-")
    if dash:
        days = range(int(first), int(last_text) + (7 if int(last_text) < int(first) else 0) + 1)
    elif span in "*?":
        days = range(7)
    else:
        days = range(int(first) % 7, 7 if step else int(first) % 7 + 1)
    return _weekday(found) in {number % 7 for number in days[:: int(step or 1)]}


def _weekday(found: date) -> int:
    return found.isoweekday() % 7


def _days(found: date) -> list[date]:
    days = (found.replace(day=1) + number * _ONE_DAY for number in range(31))
    return [day for day in days if day.month == found.month]


def _workdays(found: date) -> list[date]:
    return [day for day in _days(found) if day.isoweekday() <= 5]


# --- items ---------------------------------------------------------------------------------


def expand(item: str, low: int, high: int) -> list[int]:
    """Expand one plain item of a field; a range that runs backwards passes the field's end."""
    span, _, step = item.partition("/")
    if span in "*?":
        first, last = low, high
    elif "-" in span:
        first, last = (int(part) for part in span.split("-"))
    else:
        first, last = int(span), high if step else int(span)
    size = high - low + 1
    last += size if last < first else 0
    return sorted((number - low) % size + low for number in range(first, last + 1, int(step or 1)))


@functools.lru_cache(maxsize=4096)
def _numbers(text: str, low: int, high: int) -> frozenset[int]:
    return frozenset(value for item in text.split(",") for value in expand(item, low, high))


def _named(text: str, names: dict[str, int]) -> str:
    return re.sub(r"[A-Z]{3}", lambda match: str(names[match[0]]), text)


# --- instants ------------------------------------------------------------------------------


class Walk:
    """The local time of every instant of a stretch, one by one, all in seconds since 1970."""

    def __init__(self, zone: str, low: int, high: int, unit: int) -> None:
        info = zoneinfo.ZoneInfo(zone)
        self.seconds = range(low - low % unit, high + 1, unit)
        self.walls = [second + _offset(info, second) for second in self.seconds]
        self._instants: dict[int, list[int]] = defaultdict(list)
        for second, wall in zip(self.seconds, self.walls, strict=True):
            self._instants[wall].append(second)
        beside = zip(self.walls, self.walls[1:], self.seconds, self.seconds[1:], strict=False)
        #: Local times on either side of a gap, with their instants.
        self._gaps = [gap for gap in beside if gap[1] - gap[0] > unit]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of every instant: two stretches that agree in these are the same."""
        return tuple(wall - second for wall, second in zip(self.walls, self.seconds, strict=True))

    def wanted(self, line: Line) -> list[int]:
        """Return every local time of the stretch that matches, whether it comes or not."""
        low, high = min(self.walls), max(self.walls)
        return [
            minute + second
            for minute in range(low - low % 60, high + 1, 60)
            if line.matches(minute)
            for second in line.seconds
            if low <= minute + second <= high
        ]

    def elapsed(self, wanted: Iterable[int]) -> list[int]:
        """Return every instant with one of these local times."""
        return sorted(second for wall in wanted for second in self._instants.get(wall, ()))

    def fixed(self, wanted: Iterable[int], gap: str, overlap: str) -> list[int]:
        """Return the instants of local times that are meant once a day, by the rules."""
        found: set[int] = set()
        for wall in wanted:
            real = self._instants.get(wall, [])
            if len(real) > 1:
                found.update({"first": real[:1], "second": real[-1:], "both": real}[overlap])
            elif real:
                found.update(real)
            elif gap != "skip":
                found.add(self._beside_gap(wall, gap))
        return sorted(found)

    def _beside_gap(self, wall: int, gap: str) -> int:
        before, after = next(
            (last, first) for left, right, last, first in self._gaps if left < wall < right
        )
        return after if gap == "next_valid" else before


def _offset(info: zoneinfo.ZoneInfo, second: int) -> int:
    offset = datetime.fromtimestamp(second, info).utcoffset()
    return 0 if offset is None else offset.days * DAY + offset.seconds


def fires(
    expression: str,
    zone: str,
    after: datetime,
    until: datetime,
    *,
    gap: str = "next_valid",
    overlap: str = "first",
    margin: timedelta = timedelta(days=2),
) -> list[datetime]:
    """Return every instant in (after, until].

    `margin` is how far outside the walk begins and ends: more than any change of the clocks.
    """
    line = read(expression)
    low, high = _second(after), _second(until)
    outside = round(margin.total_seconds())
    walk = Walk(zone, low - outside, high + outside, line.unit)
    wanted = walk.wanted(line)
    found = walk.fixed(wanted, gap, overlap) if line.fixed else walk.elapsed(wanted)
    moments = (_EPOCH + timedelta(seconds=second) for second in found)
    return [moment for moment in moments if after < moment <= until]


def _second(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)
