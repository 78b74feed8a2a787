"""The steps of a large workflow in pages: a hundred at a time, all of them or those of one group.

Pure: works on the numbers of steps in their order. Pages whose steps are few have no parts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.protocol.query import integer, text
from tasks.limits import STEPS

#: Steps that a page lists at a time.
STEPS_AT_ONCE = 100
#: What a page's address says: which steps, and from which place on.
PARAMETERS = {
    "only": text(max_length=20),
    "steps_from": integer(minimum=0, maximum=STEPS),
}


@dataclass(frozen=True, slots=True)
class Group:
    """A link to the steps of one group; ``value`` is its word in the address."""

    value: str
    label: str
    count: int
    is_here: bool


@dataclass(frozen=True, slots=True)
class StepPage:
    """The steps that a page lists, and where the others are."""

    numbers: Sequence[int]
    #: Place of the first one from 0, and how many there are with the chosen group.
    start: int
    total: int
    #: Steps of the workflow.
    whole: int
    groups: Sequence[Group] = ()

    @property
    def is_paged(self) -> bool:
        """Whether there are more steps than a page lists."""
        return self.whole > STEPS_AT_ONCE

    @property
    def first(self) -> int:
        """Return the place of the first step, from 1."""
        return self.start + 1

    @property
    def last(self) -> int:
        """Return the place of the last step, from 1."""
        return self.start + len(self.numbers)

    @property
    def before(self) -> str:
        """Return where the page before begins, for the address; "" on the first one."""
        return str(self.start - STEPS_AT_ONCE) if self.start else ""

    @property
    def after(self) -> str:
        """Return where the next page begins, for the address; "" on the last one."""
        return str(self.last) if self.last < self.total else ""

    @property
    def at_once(self) -> int:
        """Return how many steps a page lists."""
        return STEPS_AT_ONCE


def page_of(
    order: Sequence[int],
    query: Mapping[str, Any],
    groups: Mapping[str, tuple[str, Collection[int]]],
) -> StepPage:
    """Return the page that the address asks for; ``groups`` are label and steps by their word.

    A word that is none of them is left out, and a place behind the end leads to the last page. Few
    steps have no links to groups: an empty group shows all of them.
    """
    only = query["only"]
    is_known = only in groups and (len(order) > STEPS_AT_ONCE or groups[only][1])
    chosen = only if is_known else ""
    wanted = [number for number in order if number in groups[chosen][1]] if chosen else order
    start = (query["steps_from"] or 0) // STEPS_AT_ONCE * STEPS_AT_ONCE
    start = min(start, max(len(wanted) - 1, 0) // STEPS_AT_ONCE * STEPS_AT_ONCE)
    links = [Group("", "All", len(order), not chosen)]
    links += [
        Group(word, label, len(members), word == chosen)
        for word, (label, members) in groups.items()
    ]
    numbers = wanted[start : start + STEPS_AT_ONCE]
    return StepPage(numbers, start, len(wanted), len(order), links)
