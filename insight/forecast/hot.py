"""Find the hot spots of a forecast, and the tasks that start in them. Pure.

A hot spot has several times the starts of a usual minute: many tasks share a round time there. A
load that is high all the time makes none.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tasks.schedules.minutes import MINUTE, Stretch

#: Least starts of a hot minute, and its least multiple of the mean minute's starts.
LEAST_STARTS = 5
TIMES_THE_MEAN = 3
#: Minutes that are examined, the fullest first, and hot spots that are found among them.
_CANDIDATES = 300
_MOST = 10
_SAMPLE = 5
_DESTINATIONS = 5


class Contribution:
    """Starts by minute of tasks with equal instants, packed; destinations count the tasks."""

    __slots__ = ("_counts", "destinations", "numbers", "sample", "tasks")

    def __init__(
        self,
        starts: Mapping[int, int],
        tasks: int,
        destinations: Mapping[str, int],
        sample: Sequence[UUID],
    ) -> None:
        self.numbers = array("L", sorted(starts))
        self._counts = array("Q", (starts[number] for number in self.numbers))
        self.tasks = tasks
        self.destinations = destinations
        self.sample = sample

    def starts_at(self, number: int) -> int:
        """Return the starts of a minute."""
        place = bisect_left(self.numbers, number)
        there = place < len(self.numbers) and self.numbers[place] == number
        return self._counts[place] if there else 0


@dataclass(frozen=True, slots=True)
class HotSpot:
    """A hot minute; ``repeats`` counts the further hot minutes of the same tasks."""

    at: datetime
    count: int
    tasks: int
    repeats: int
    destinations: list[tuple[str, int]]
    sample: list[UUID]


def find_hot_spots(
    stretch: Stretch, starts: Mapping[int, int], contributions: Sequence[Contribution]
) -> list[HotSpot]:
    """Return the fullest minutes, each set of tasks once: at the first minute that it fills."""
    least = max(LEAST_STARTS, TIMES_THE_MEAN * sum(starts.values()) / max(1, stretch.minutes))
    hot = [number for number, count in starts.items() if count >= least]
    hot.sort(key=lambda number: (-starts[number], number))
    whose = _whose(hot[:_CANDIDATES], contributions)
    found: dict[frozenset[int], list[int]] = {}
    for number in hot[:_CANDIDATES]:
        found.setdefault(frozenset(whose[number]), []).append(number)
    return [
        _hot_spot(stretch, starts, numbers, [contributions[place] for place in sorted(places)])
        for places, numbers in list(found.items())[:_MOST]
    ]


def _whose(numbers: Sequence[int], contributions: Sequence[Contribution]) -> dict[int, list[int]]:
    whose: dict[int, list[int]] = {number: [] for number in numbers}
    for place, part in enumerate(contributions):
        fewer = part.numbers if len(part.numbers) < len(numbers) else numbers
        for number in fewer:
            if number in whose and part.starts_at(number):
                whose[number].append(place)
    return whose


def _hot_spot(
    stretch: Stretch,
    starts: Mapping[int, int],
    numbers: Sequence[int],
    parts: Sequence[Contribution],
) -> HotSpot:
    first = min(numbers)
    destinations: dict[str, int] = {}
    tasks = 0
    for part in parts:
        # A group that spreads its starts has only some of its tasks in this minute.
        here = min(part.tasks, part.starts_at(first))
        tasks += here
        for name, count in part.destinations.items():
            destinations[name] = destinations.get(name, 0) + round(here * count / part.tasks)
    fullest = sorted(parts, key=lambda part: -part.starts_at(first))
    sample = [task_id for part in fullest for task_id in part.sample]
    ranked = sorted(destinations.items(), key=lambda item: (-item[1], item[0]))
    return HotSpot(
        at=stretch.start + first * MINUTE,
        count=starts[first],
        tasks=tasks,
        repeats=len(numbers) - 1,
        destinations=ranked[:_DESTINATIONS],
        sample=sample[:_SAMPLE],
    )
