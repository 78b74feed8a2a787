"""How many starts a schedule has in each minute of a stretch of time, for many tasks at once.

The forecast asks it for every distinct schedule. A fixed rate below a minute and a cron
expression with several seconds are counted by arithmetic, everything else is walked, up to a
bound that the caller sets. Pure: knows no model and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tasks.schedules.base import MICROSECOND, Occurrence, Spec
from tasks.schedules.cron_parse import parse_cron

MINUTE = timedelta(minutes=1)
#: Specs that count a stretch by arithmetic name no smaller chunk.
BY_ARITHMETIC = 2**32


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of the tasks of one schedule within its jitter.

    ``tasks`` counts them by the step of the jitter that their ids give them, out of ``steps``
    equal ones.
    """

    seconds: float = 0.0
    steps: int = 1
    tasks: Mapping[int, int] = field(default_factory=lambda: {0: 1})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole minutes from ``start`` on, and how many occurrences may be walked to count them."""

    start: datetime
    minutes: int
    most_walked: int = 1_000_000

    @property
    def until(self) -> datetime:
        """Return the end, which is not part of it."""
        return self.start + self.minutes * MINUTE


@dataclass(frozen=True, slots=True)
class Counted:
    """Starts of all tasks together by the number of the minute, and the cost of counting them."""

    starts: Mapping[int, int]
    walked: int


def count_minutes(
    make: Callable[[Mapping[str, Any]], Spec],
    schedule: Mapping[str, Any],
    seed: str,
    spread: Spread,
    stretch: Stretch,
) -> Counted | None:
    """Count the starts of every minute; None when that takes more steps than allowed.

    ``make`` makes the specification of a schedule; ``seed`` decides the ``H`` of its expression.
    The seconds within a minute count alike, so a jitter below a minute moves no start here.
    """
    tasks = sum(spread.tasks.values())
    reduced, times = without_seconds(schedule, seed)
    spec = make(reduced)
    if _is_dense(spec, stretch.start):
        starts = _by_arithmetic(spec, stretch, tasks)
        return Counted(starts, stretch.minutes)
    return _by_walking(spec, stretch, spread, times)


def without_seconds(schedule: Mapping[str, Any], seed: str) -> tuple[Mapping[str, Any], int]:
    """Return a schedule with one second a minute, and how many times each of them counts.

    Not where that would make fixed times of it, which follow other rules for clock changes.
    """
    expression = schedule.get("cron_expression")
    if not expression or len(expression.split()) != 6:
        return schedule, 1
    fields = parse_cron(expression, seed)
    if len(fields.seconds) == 1:
        return schedule, 1
    text = " ".join([str(fields.seconds[0]), *expression.split()[1:]])
    if parse_cron(text, seed).fixed_time != fields.fixed_time:
        return schedule, 1
    return {**schedule, "cron_expression": text}, len(fields.seconds)


def _is_dense(spec: Spec, start: datetime) -> bool:
    if spec.count_chunk < BY_ARITHMETIC or spec.may_exclude:
        return False
    first = spec.next_after(start)
    second = spec.next_after(first.at) if first else None
    return bool(first and second and second.at - first.at < MINUTE)


def _by_arithmetic(spec: Spec, stretch: Stretch, tasks: int) -> dict[int, int]:
    found = {}
    for number in range(stretch.minutes):
        # From just before the minute to just before the next: its first instant is its own.
        after = stretch.start + number * MINUTE - MICROSECOND
        count, _ = spec.count_between(after, after + MINUTE, 60)
        if count:
            found[number] = count * tasks
    return found


def _by_walking(spec: Spec, stretch: Stretch, spread: Spread, times: int) -> Counted | None:
    starts: dict[int, int] = {}
    walked = 0
    for occurrence, gap in _with_gaps(spec, stretch, spread.seconds):
        walked += len(spread.tasks)
        if walked > stretch.most_walked:
            return None
        room = spread.seconds if gap is None else min(spread.seconds, gap)
        since = (occurrence.at - stretch.start).total_seconds()
        for step, tasks in spread.tasks.items():
            number = int((since + room * (step + 0.5) / spread.steps) // 60)
            if 0 <= number < stretch.minutes:
                starts[number] = starts.get(number, 0) + tasks * times
    return Counted(starts, walked)


def _with_gaps(
    spec: Spec, stretch: Stretch, jitter_seconds: float
) -> Iterator[tuple[Occurrence, float | None]]:
    """Yield what may start within the stretch, each with the seconds to the one after it."""
    before = stretch.start - timedelta(seconds=jitter_seconds) - MICROSECOND
    walk = spec.walk_open(before)
    current = next(walk, None)
    while current is not None and current.at < stretch.until:
        following = next(walk, None)
        gap = (following.at - current.at).total_seconds() if following else None
        yield current, gap
        current = following
