"""Coming runs by day, counted from the schedules for all tasks of a tenant, or those of a filter.

The database groups tasks of equal instants, and each group is counted once. The read is bounded:
the 10,000 tasks that are due first of those that recur, and as many one-time tasks. Paused tasks
do not count. Instants count on the day of their time; jitter may move a start over midnight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from itertools import islice
from uuid import UUID

from django.core.cache import cache

from insight.explain.timetable import UNREADABLE
from insight.month.local_days import LocalDay, place_of
from tasks.forecast_groups import Group, Scope, read_groups, read_one_time
from tasks.querysets import TaskQuerySet
from tasks.schedules.base import MICROSECOND, Spec
from tasks.schedules.minutes import BY_ARITHMETIC, without_seconds

#: Tasks of each kind that one count reads: a second of work where all schedules differ.
MOST_TASKS = 10_000
#: Instants that one count walks: a second or two of work.
MOST_WALKED = 300_000
#: How long a process keeps a count.
KEPT_SECONDS = 60

Narrow = Callable[[TaskQuerySet], TaskQuerySet]


@dataclass(frozen=True, slots=True)
class Coming:
    """Coming runs by day, without days that have none, as they were at ``counted_at``.

    ``tasks`` have an instant before the month's end, ``counted`` are those in the numbers. Not
    ``complete``: further tasks were not read, or some could not be counted within the bounds.
    """

    counts: Mapping[date, int]
    tasks: int
    counted: int
    complete: bool
    counted_at: datetime


def coming_runs(
    tenant_id: UUID, days: Sequence[LocalDay], now: datetime, narrow: Narrow, named: str
) -> Coming:
    """Return the runs of the days from now on; up to a minute old.

    ``narrow`` leaves the tasks of a filter, which ``named`` tells from others.
    """
    start, end = max(days[0].start, now), days[-1].end
    if end <= start:
        return Coming({}, 0, 0, True, now)
    # The zone decides the days: its months begin at other instants.
    key = f"month:{tenant_id}:{days[0].start.timestamp()}:{end.timestamp()}:{named}"
    digest = sha256(key.encode(errors="backslashreplace")).hexdigest()
    kept: Coming | None = cache.get(digest)
    if kept is not None:
        return kept
    made = _counted(Scope(tenant_id, end, narrow=narrow, most=MOST_TASKS), days, start, now)
    cache.set(digest, made, KEPT_SECONDS)
    return made


def end_of_limited(
    spec: Spec, cursor: datetime, remaining: int, end: datetime, most: int
) -> datetime | None:
    """Return the end of the instants that ``max_occurrences`` leaves, ``end`` at the latest.

    Instants at the end are no part. None where ``most`` instants are too few to tell.
    """
    if remaining <= 0:
        return cursor
    limit = remaining if _by_arithmetic(spec) else min(remaining, most)
    count, last = spec.count_between(cursor - MICROSECOND, end - MICROSECOND, limit)
    if last is None or count < limit:
        return end
    return last + MICROSECOND if limit == remaining else None


def _counted(scope: Scope, days: Sequence[LocalDay], start: datetime, now: datetime) -> Coming:
    starts = [one.start for one in days]
    sums = [0] * len(days)
    groups, recurring = read_groups(scope)
    counted = walked = 0
    for group in groups:
        found = _of_group(group, days, start, max(0, MOST_WALKED - walked))
        if found is None:
            continue
        of_days, cost = found
        counted += group.tasks
        walked += cost
        sums = [had + count * group.tasks for had, count in zip(sums, of_days, strict=True)]
    once, one_time = read_one_time(scope, start)
    for one in once:
        sums[max(0, place_of(one.at, starts))] += one.tasks
        counted += one.tasks
    tasks = recurring + one_time
    counts = {one.day: count for one, count in zip(days, sums, strict=True) if count}
    complete = counted >= tasks and max(recurring, one_time) < MOST_TASKS
    return Coming(counts, tasks, counted, complete, now)


def _of_group(
    group: Group, days: Sequence[LocalDay], start: datetime, most: int
) -> tuple[list[int], int] | None:
    """Count the runs of one task of a group by day, with the cost; None where it is too much.

    One unreadable schedule must not hide the others; the scheduler pauses its task.
    """
    try:
        remaining, cursor = group.key.remaining, group.key.cursor
        if remaining is None or cursor is None:
            reduced, times = without_seconds(group.schedule, group.seed)
            return _by_days(group.make(reduced), days, (start, days[-1].end), most, times)
        spec = group.make(group.schedule)
        end = end_of_limited(spec, cursor, remaining, days[-1].end, most)
        return None if end is None else _by_days(spec, days, (start, end), most)
    except UNREADABLE:
        return None


def _by_days(
    spec: Spec,
    days: Sequence[LocalDay],
    stretch: tuple[datetime, datetime],
    most: int,
    times: int = 1,
) -> tuple[list[int], int] | None:
    counts = [0] * len(days)
    start, end = stretch
    if _by_arithmetic(spec):
        for place, one in enumerate(days):
            after, until = max(one.start, start) - MICROSECOND, min(one.end, end) - MICROSECOND
            if after < until:
                counts[place] = times * spec.count_between(after, until, BY_ARITHMETIC)[0]
        return counts, len(days)
    starts = [one.start for one in days]
    walk = spec.walk_open(start - MICROSECOND, end - MICROSECOND)
    walked = 0
    for found in islice(walk, most + 1):
        walked += 1
        counts[place_of(found.at, starts)] += times
    return None if walked > most else (counts, walked)


def _by_arithmetic(spec: Spec) -> bool:
    return spec.count_chunk >= BY_ARITHMETIC and not spec.may_exclude
