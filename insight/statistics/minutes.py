"""Ended attempts by minute, and percentiles of the start delays of a stretch of minutes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from uuid import UUID

from executions.loop.clocks import database_now
from executions.models.minute_stat import START_DELAY_BUCKETS_MS, MinuteStat

_MINUTE = timedelta(minutes=1)
#: The last hour: the minute under way and those before it.
MINUTES = 60
#: A day; longer stretches are for reports, not for a picture.
MOST_MINUTES = 1440
_SECOND_MS = 1000
_NONE = (0,) * (len(START_DELAY_BUCKETS_MS) + 1)


@dataclass(frozen=True, slots=True)
class MinutePoint:
    """The attempts that ended within one minute; ``start_delays`` counts first ones by bucket.

    The buckets are those of ``START_DELAY_BUCKETS_MS`` and one above them. ``results`` are the
    successes and failures of tasks and of runs, in which calls of steps do not count.
    """

    minute: datetime
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    cancelled: int = 0
    late: int = 0
    start_delays: tuple[int, ...] = _NONE
    results: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class StartDelay:
    """Percentiles in milliseconds, each the upper bound of its bucket; None without a start.

    Infinity where the bucket is the one above all bounds.
    """

    p50: float | None
    p95: float | None
    p99: float | None
    count: int


def throughput(
    tenant_id: UUID, minutes: int = MINUTES, now: datetime | None = None
) -> list[MinutePoint]:
    """Return the last minutes, oldest first, empty ones too; the last one is not over yet.

    ``now`` is the database's time unless given; at most a day is returned.
    """
    count = max(1, min(minutes, MOST_MINUTES))
    first = first_minute(now or database_now(), count)
    wanted = [first + ahead * _MINUTE for ahead in range(count)]
    rows = MinuteStat.objects.filter(
        tenant_id=tenant_id, minute__gte=wanted[0], minute__lte=wanted[-1]
    )
    found = {row.minute: _point(row) for row in rows}
    return [found.get(minute) or MinutePoint(minute) for minute in wanted]


def first_minute(now: datetime, minutes: int = MINUTES) -> datetime:
    """Return the start of the last minutes: the one under way and the ones before it."""
    return now.replace(second=0, microsecond=0) - (minutes - 1) * _MINUTE


def start_delay(points: Iterable[MinutePoint]) -> StartDelay:
    """Return the percentiles of all starts of these minutes."""
    return percentiles(
        [sum(counts) for counts in zip(*(point.start_delays for point in points), strict=True)]
    )


def percentiles(totals: Sequence[int]) -> StartDelay:
    """Return the percentiles of starts that are counted by bucket."""
    return StartDelay(
        p50=percentile(totals, 0.50),
        p95=percentile(totals, 0.95),
        p99=percentile(totals, 0.99),
        count=sum(totals),
    )


def percentile(counts: Sequence[int], share: float) -> float | None:
    """Return the upper bound of the bucket that holds the share; None without a count.

    Infinity for the bucket above all bounds.
    """
    total = sum(counts)
    if not total:
        return None
    reached = next(i for i, so_far in enumerate(accumulate(counts)) if so_far >= share * total)
    return (*map(float, START_DELAY_BUCKETS_MS), math.inf)[reached]


def bound_text(bound: float | None) -> str:
    """Return a percentile in words: ``≤ 100 ms``, ``≤ 5 s``, or ``> 60 s`` above all bounds."""
    if bound is None:
        return "-"
    sign, shown = ("≤", bound) if math.isfinite(bound) else (">", START_DELAY_BUCKETS_MS[-1])
    return f"{sign} {shown:g} ms" if shown < _SECOND_MS else f"{sign} {shown / _SECOND_MS:g} s"


def wire_bound(bound: float | None) -> float | None:
    """Return a percentile as the API and ``--json`` give it: 60,000 also for longer delays."""
    return None if bound is None else min(bound, float(START_DELAY_BUCKETS_MS[-1]))


def _point(row: MinuteStat) -> MinutePoint:
    return MinutePoint(
        minute=row.minute,
        succeeded=row.succeeded,
        failed=row.failed,
        retried=row.retried,
        cancelled=row.cancelled,
        late=row.late,
        start_delays=tuple(row.start_delays),
        results=(
            row.succeeded - row.steps_succeeded + row.runs_succeeded,
            row.failed - row.steps_failed + row.runs_failed,
        ),
    )
