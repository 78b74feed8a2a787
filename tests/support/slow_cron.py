"""A slow, independent reading of cron in a zone: walks every minute and asks zoneinfo.

Shares no code with `tasks.schedules`. Understands numbers, `*`, lists, ranges and steps in five
fields, which is enough to judge how local times become instants.
"""

from __future__ import annotations

import functools
import zoneinfo
from datetime import UTC, datetime, timedelta

MINUTE = timedelta(minutes=1)
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


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
    """Return every instant in (after, until] by walking minute by minute.

    `margin` is how far outside the walk begins and ends: a gap moves a time by its length.
    """
    info = zoneinfo.ZoneInfo(zone)
    minute, hour, *_ = expression.split()
    fixed = not any(mark in minute + hour for mark in "*/")
    found = set()
    if fixed:
        wall = (after - margin).astimezone(info).replace(tzinfo=None, second=0, microsecond=0)
        last = (until + margin).astimezone(info).replace(tzinfo=None)
        while wall <= last:
            if matches(expression, wall):
                found.update(_instants(wall, info, gap, overlap))
            wall += MINUTE
    else:
        moment = after.replace(second=0, microsecond=0)
        while moment <= until:
            if matches(expression, moment.astimezone(info).replace(tzinfo=None)):
                found.add(moment)
            moment += MINUTE
    return sorted(moment for moment in found if after < moment <= until)


def matches(expression: str, wall: datetime) -> bool:
    """Tell whether a wall-clock minute matches; seconds must be zero."""
    if wall.second or wall.microsecond:
        return False
    minute, hour, day, month, weekday = _sets(expression)
    parts = expression.split()
    day_ok, weekday_ok = wall.day in day, wall.isoweekday() % 7 in {d % 7 for d in weekday}
    stars = parts[2].startswith("*") or parts[4].startswith("*")
    days = (day_ok and weekday_ok) if stars else (day_ok or weekday_ok)
    return wall.minute in minute and wall.hour in hour and wall.month in month and days


@functools.lru_cache(maxsize=256)
def _sets(expression: str) -> tuple[frozenset[int], ...]:
    return tuple(
        frozenset(value for item in text.split(",") for value in expand(item, low, high))
        for text, (low, high) in zip(expression.split(), _BOUNDS, strict=True)
    )


def expand(item: str, low: int, high: int) -> list[int]:
    """Expand one plain item of a field."""
    span, _, step = item.partition("/")
    if span == "*":
        # A star in the weekday field is one week, without the second Sunday.
        first, last = low, min(high, 6) if high == 7 else high
    elif "-" in span:
        first, last = (int(part) for part in span.split("-"))
    else:
        first, last = int(span), high if step else int(span)
    return list(range(first, last + 1, int(step or 1)))


def _instants(wall: datetime, info: zoneinfo.ZoneInfo, gap: str, overlap: str) -> list[datetime]:
    readings = [wall.replace(tzinfo=info, fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = sorted(
        {moment for moment in readings if moment.astimezone(info).replace(tzinfo=None) == wall}
    )
    if len(real) == 2:
        return {"first": real[:1], "second": real[1:], "both": real}[overlap]
    if real or gap == "skip":
        return real
    # In a gap fold 0 reads with the offset before it, which is an instant after the change.
    after = readings[0]
    while after.astimezone(info).utcoffset() == (after - MINUTE).astimezone(info).utcoffset():
        after -= MINUTE
    return [after if gap == "next_valid" else after - MINUTE]
