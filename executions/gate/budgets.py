"""Keep due work within its task's budget: some goes on to its place, the rest is skipped.

The gate has locked the task and its budgets, so that what has begun and what is counted agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol, TypeVar

from executions.choices import Trigger
from tasks.budgets.purses import Purses
from tasks.budgets.units import RUNS

#: What was asked for was counted, or refused, when it was asked for.
_COUNTED_BEFORE = (Trigger.MANUAL, Trigger.RETRY)


class Triggered(Protocol):
    """A due execution, and why it was made."""

    @property
    def trigger(self) -> str:
        """Why it was made."""

    @property
    def gave_way(self) -> bool:
        """Whether it was admitted before, and gave its place away."""


Due = TypeVar("Due", bound=Triggered)


def split(purses: Purses, due: Sequence[Due]) -> tuple[list[Due], list[Due]]:
    """Return the due work that the budgets allow, oldest first, and the rest.

    Work of another group of the task, split before, has its part of what is left.
    """
    within: list[Due] = []
    beyond: list[Due] = []
    room = max(0, purses.room - purses.promised)
    for row in due:
        if _is_counted(row):
            within.append(row)
        elif room:
            within.append(row)
            room -= 1
            purses.promised += 1
        else:
            beyond.append(row)
    return within, beyond


def count(purses: Purses, admitted: Sequence[Triggered]) -> None:
    """Count the runs that were admitted."""
    runs = sum(not _is_counted(row) for row in admitted)
    if runs:
        purses.spend({RUNS: Decimal(runs)})


def _is_counted(row: Triggered) -> bool:
    return row.gave_way or row.trigger in _COUNTED_BEFORE
