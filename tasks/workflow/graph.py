"""The graph of a workflow: its steps by number, and an order in which prerequisites come first.

A step's number belongs to its key for the life of the workflow, so that a run of one version can be
retried by another. Numbers begin at 1; 0 is the workflow itself. Nothing here knows a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

#: Conditions that a failure can fulfil: steps that mend, clean up or tell.
FOR_FAILURES = frozenset({"all_done", "one_failed"})


class Cycle(ValueError):
    """Steps wait for each other; ``path`` has their keys, the first one again at its end."""

    def __init__(self, path: list[str]) -> None:
        super().__init__(" → ".join(path))
        self.path = path


@dataclass(frozen=True, slots=True)
class Step:
    """A step as the graph sees it: what it waits for, and which ends of that let it start."""

    number: int
    key: str
    depends_on: tuple[int, ...] = ()
    condition: str = "all_success"


class Graph:
    """Steps of one version of a workflow, by number.

    ``order`` has every prerequisite before its dependents; ``rank`` is a step's place in it.
    ``for_failures`` are the steps that go on when the run has failed: those with a condition that
    a failure can fulfil, and those that depend on such steps only.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        """Raise Cycle where steps wait for each other. All prerequisites are among the steps."""
        self.steps: dict[int, Step] = {step.number: step for step in steps}
        self.order = self._in_order()
        self.rank = {number: place for place, number in enumerate(self.order)}
        dependents: dict[int, list[int]] = {number: [] for number in self.steps}
        for number in self.order:
            for prerequisite in self.steps[number].depends_on:
                dependents[prerequisite].append(number)
        self.dependents: Mapping[int, Sequence[int]] = dependents
        self.for_failures = self._for_failures()
        #: A bit for the rank of each step that a step depends on, directly or not.
        self._behind: dict[int, int] = {}
        for number in self.order:
            mask = 0
            for prerequisite in self.steps[number].depends_on:
                mask |= self._behind[prerequisite] | 1 << self.rank[prerequisite]
            self._behind[number] = mask

    def downstream(self, numbers: Iterable[int]) -> set[int]:
        """Return these steps and all that depend on them, directly or not."""
        return _reached(numbers, self.dependents)

    def comes_before(self, first: int, second: int) -> bool:
        """Return whether the second step depends on the first, directly or not."""
        return bool(self._behind[second] >> self.rank[first] & 1)

    def _in_order(self) -> tuple[int, ...]:
        waits_for = {step.number: step.depends_on for step in self.steps.values()}
        try:
            return tuple(TopologicalSorter(waits_for).static_order())
        except CycleError as error:
            numbers: list[int] = error.args[1]
            # Each one waits for the one before it; people read what waits for what.
            raise Cycle([self.steps[number].key for number in reversed(numbers)]) from None

    def _for_failures(self) -> frozenset[int]:
        found: set[int] = set()
        for number in self.order:
            step = self.steps[number]
            follows = step.depends_on and found.issuperset(step.depends_on)
            if step.condition in FOR_FAILURES or follows:
                found.add(number)
        return frozenset(found)


def numbered(keys: Iterable[str], before: Mapping[str, int]) -> dict[str, int]:
    """Return the number of each key: the one that it had ``before``, or the next that is free.

    ``before`` has every key that any version of the workflow had.
    """
    highest = max(before.values(), default=0)
    found: dict[str, int] = {}
    for key in keys:
        if key not in before:
            highest += 1
        found[key] = before.get(key, highest)
    return found


def _reached(first: Iterable[int], ways: Mapping[int, Sequence[int]]) -> set[int]:
    found: set[int] = set()
    ahead = list(first)
    while ahead:
        number = ahead.pop()
        if number not in found:
            found.add(number)
            ahead.extend(ways[number])
    return found
