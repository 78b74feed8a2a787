"""The load forecast: how many starts each coming minute brings, and which minutes stand out.

Its cost is bounded for any number of tasks: the database groups tasks of equal instants, and each
group is walked once. Tasks beyond the bounds are left out, and ``complete`` is false then. Paused
tasks do not start. Each process that computes a forecast keeps it for a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.core.cache import cache

from insight.explain.timetable import UNREADABLE
from insight.forecast.hot import Contribution, HotSpot, find_hot_spots
from shared.hosts import HostError
from shared.instants import format_instant
from tasks.destination_names import read_name
from tasks.forecast_groups import Group, Scope, read_groups, read_one_time
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tasks.schedules.base import MICROSECOND
from tasks.schedules.minutes import MINUTE, Counted, Stretch, count_minutes

MAX_DAYS = 7
DAY_MINUTES = 24 * 60
#: Occurrences that one forecast walks; about three seconds of work.
MOST_WALKED = 1_000_000
#: How long a process keeps a forecast.
KEPT_SECONDS = 60
#: Destinations that an answer names, the busiest first.
_MOST_DESTINATIONS = 100


@dataclass(frozen=True, slots=True)
class Forecast:
    """The starts of each minute from ``start`` on, by number of the minute.

    ``tasks`` are all that start in time, ``counted`` those whose starts are in the numbers.
    """

    start: datetime
    minutes: int
    computed_at: datetime
    starts: Mapping[int, int]
    destinations: Mapping[str, int]
    hot_spots: list[HotSpot]
    tasks: int
    counted: int

    @property
    def until(self) -> datetime:
        """Return the end, which is not part of it."""
        return self.start + self.minutes * MINUTE

    @property
    def complete(self) -> bool:
        """Whether every task is in the numbers."""
        return self.counted >= self.tasks

    def at(self, moment: datetime) -> int:
        """Return the starts of the minute of a moment; 0 outside of the forecast."""
        return self.starts.get((moment - self.start) // MINUTE, 0)


def forecast(
    tenant_id: UUID,
    *,
    now: datetime,
    start: datetime | None = None,
    days: int = MAX_DAYS,
    destination: str | None = None,
    label: str | None = None,
) -> Forecast:
    """Return the forecast of ``days`` from ``start`` on (its whole minute; now unless given).

    It may be a minute old; ``computed_at`` is the time of its making.
    """
    destination = destination and _named(destination)
    key = f"forecast:{tenant_id}:{start and format_instant(start)}:{days}:{destination}:{label}"
    digest = _safe(key)
    kept: Forecast | None = cache.get(digest)
    if kept is not None:
        return kept
    begun = (start or now).replace(second=0, microsecond=0)
    stretch = Stretch(begun, days * DAY_MINUTES, MOST_WALKED)
    made = compute(Scope(tenant_id, stretch.until, destination, label), stretch, now)
    cache.set(digest, made, KEPT_SECONDS)
    return made


def _named(destination: str) -> str:
    """Return the name of the destination that the text spells; other text as it is."""
    try:
        return read_name(destination)
    except HostError:
        return destination


def present_forecast(found: Forecast, resolution: str) -> dict[str, Any]:
    """Return the answer of ``GET /v1/forecast``; buckets without a start are left out."""
    width = 60 if resolution == "hour" else 1
    buckets: dict[int, int] = {}
    for number, count in found.starts.items():
        buckets[number // width] = buckets.get(number // width, 0) + count
    busiest = sorted(found.destinations.items(), key=lambda item: (-item[1], item[0]))
    return {
        "from": format_instant(found.start),
        "to": format_instant(found.until),
        "resolution": resolution,
        "computed_at": format_instant(found.computed_at),
        "complete": found.complete,
        "tasks": found.tasks,
        "tasks_counted": found.counted,
        "starts": sum(found.starts.values()),
        "buckets": [
            {"at": format_instant(found.start + number * width * MINUTE), "count": buckets[number]}
            for number in sorted(buckets)
        ],
        "destinations": [
            {"destination": name, "count": count} for name, count in busiest[:_MOST_DESTINATIONS]
        ],
        "hot_spots": present_hot_spots(found),
    }


def present_hot_spots(found: Forecast) -> list[dict[str, Any]]:
    """Return the minutes that stand out, each with names of some of its tasks."""
    ids = {task_id for spot in found.hot_spots for task_id in spot.sample}
    known: TaskQuerySet = Task.objects.filter(pk__in=ids)
    names = dict(known.values_list("id", "name"))
    return [
        {
            "at": format_instant(spot.at),
            "count": spot.count,
            "tasks": spot.tasks,
            "repeats": spot.repeats,
            "destinations": [
                {"destination": name, "count": count} for name, count in spot.destinations
            ],
            "sample": [
                {"id": str(task_id), "name": names[task_id]}
                for task_id in spot.sample
                if task_id in names
            ],
        }
        for spot in found.hot_spots
    ]


@dataclass(slots=True)
class _Sum:
    """The sums so far."""

    walked: int = 0
    tasks: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    destinations: dict[str, int] = field(default_factory=dict)
    contributions: list[Contribution] = field(default_factory=list)

    def add(self, starts: Mapping[int, int], part: Contribution) -> None:
        """Add the starts of tasks with equal instants."""
        self.tasks += part.tasks
        total = 0
        for number, count in starts.items():
            self.starts[number] = self.starts.get(number, 0) + count
            total += count
        for name, share in part.destinations.items():
            # Tasks of a group start equally often.
            self.destinations[name] = self.destinations.get(name, 0) + total * share // part.tasks
        self.contributions.append(part)


def compute(scope: Scope, stretch: Stretch, now: datetime) -> Forecast:
    """Return the forecast of a scope's tasks, read anew."""
    found = _Sum()
    groups, recurring = read_groups(scope)
    for group in groups:
        counted = count_group(group, _rest(stretch, found.walked))
        if counted is not None:
            found.walked += counted.walked
            part = Contribution(counted.starts, group.tasks, group.destinations, group.sample)
            found.add(counted.starts, part)
    once, one_time = read_one_time(scope, stretch.start)
    for one in once:
        starts = {(one.at - stretch.start) // MINUTE: one.tasks}
        called = {one.destination: one.tasks} if one.destination else {}
        part = Contribution(starts, one.tasks, called, one.sample)
        found.add(starts, part)
    return Forecast(
        start=stretch.start,
        minutes=stretch.minutes,
        computed_at=now,
        starts=found.starts,
        destinations=found.destinations,
        hot_spots=find_hot_spots(stretch, found.starts, found.contributions),
        tasks=recurring + one_time,
        counted=found.tasks,
    )


def count_group(group: Group, stretch: Stretch) -> Counted | None:
    """Count the starts of a group's tasks; None where they cannot be counted within the bound.

    One unreadable schedule must not hide the others; the scheduler pauses its task.
    """
    try:
        if group.key.remaining is not None:
            stretch = _bounded(group, stretch)
        return count_minutes(group.make, group.schedule, group.seed, group.spread, stretch)
    except UNREADABLE:
        return None


def _bounded(group: Group, stretch: Stretch) -> Stretch:
    """Return the stretch cut after the last instant that ``max_occurrences`` leaves."""
    remaining, cursor = group.key.remaining or 0, group.key.cursor
    if cursor is None or remaining <= 0:
        return Stretch(stretch.start, 0, stretch.most_walked)
    spec = group.make(group.schedule)
    most = min(remaining, stretch.most_walked)
    count, last = spec.count_between(cursor - MICROSECOND, stretch.until, most)
    if last is None or count < remaining:
        return stretch
    minutes = (last - stretch.start) // MINUTE + 1
    return Stretch(stretch.start, min(max(0, minutes), stretch.minutes), stretch.most_walked)


def _rest(stretch: Stretch, walked: int) -> Stretch:
    return Stretch(stretch.start, stretch.minutes, max(0, stretch.most_walked - walked))


def _safe(key: str) -> str:
    """Return the key in a form that every cache accepts."""
    return sha256(key.encode(errors="backslashreplace")).hexdigest()
