"""The budgets of tasks as they are spent: locked, changed, and stored with their events.

A run counts when it begins to wait for a worker, so the number of runs is exact. Seconds and units
are known when an attempt has ended: work in flight may go beyond them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from events import outbox
from shared.exceptions import Conflict
from shared.instants import format_instant
from shared.sql import Asked, rows, run, together
from tasks.budgets.periods import end_of
from tasks.budgets.units import RUNS
from tasks.choices import BUDGET_EXCEEDED

#: The events: four fifths are used; an instant was skipped because nothing was left.
NEAR, EXCEEDED = "budget.near", "budget.exceeded"
_NEAR_SHARE = Decimal("0.8")


@dataclass(slots=True)
class Purse:
    """One budget in the period that holds the moment at which it was read."""

    task_id: UUID
    unit: str
    tenant_id: UUID
    per: str
    most: Decimal
    used: Decimal
    resets_at: datetime
    near: bool
    exceeded: bool
    changed: bool = False

    @property
    def left(self) -> Decimal:
        """What is left of it; 0 where more was used."""
        return max(Decimal(0), self.most - self.used)

    def spend(self, amount: Decimal) -> None:
        """Count an amount; a negative one was counted for nothing."""
        self.used = max(Decimal(0), self.used + amount)
        self.changed = True

    def facts(self) -> dict[str, Any]:
        """Return what events tell about it."""
        return {
            "unit": self.unit,
            "per": self.per,
            "limit": plain(self.most),
            "used": plain(self.used),
            "resets_at": format_instant(self.resets_at),
        }


@dataclass(slots=True)
class Purses:
    """The budgets of one task."""

    all: list[Purse] = field(default_factory=list)
    #: Runs that may begin in the transaction under way, and are not counted yet.
    promised: int = 0
    #: Whether an instant was skipped in the transaction under way.
    has_skipped: bool = False

    @property
    def room(self) -> int:
        """How many runs may begin: as many as are left, none where something is used up."""
        if any(not purse.left for purse in self.all):
            return 0
        runs = [int(purse.left) for purse in self.all if purse.unit == RUNS]
        return runs[0] if runs else 2**31

    def lasts(self, moment: datetime) -> bool:
        """Whether something is left, of periods that go on until after a moment."""
        return bool(self.room) and all(purse.resets_at > moment for purse in self.all)

    def spend(self, amounts: Mapping[str, Decimal]) -> None:
        """Count amounts by unit; the task has no budget of the other units."""
        for purse in self.all:
            if amount := amounts.get(purse.unit):
                purse.spend(amount)

    def used_up(self) -> list[Purse]:
        """Return the budgets of which nothing is left."""
        return [purse for purse in self.all if not purse.left]

    def tell_skipped(self) -> None:
        """Tell of a skipped instant, the first one of a period, once all that begins is counted."""
        for purse in self.used_up() if self.has_skipped else ():
            if not purse.exceeded:
                purse.exceeded = purse.changed = True
                tell(EXCEEDED, purse)


def lock(task_ids: Collection[UUID], behind: Sequence[Asked] = ()) -> dict[UUID, Purses]:
    """Lock the budgets of tasks, in the present period; leave out tasks without one.

    The statements ``behind`` it share its round trip.
    """
    return _of_rows(together(("budgets/lock", {"tasks": sorted(task_ids)}), *behind)[0].rows)


def read(task_ids: Collection[UUID]) -> dict[UUID, Purses]:
    """Return the same, without locks."""
    return _of_rows(rows("budgets/read", {"tasks": list(task_ids)}))


def lock_free(task_ids: Collection[UUID]) -> dict[UUID, Purses]:
    """Lock tasks, and their budgets; leave out tasks that another session has locked."""
    free = [row[0] for row in rows("budgets/lock_free_tasks", {"tasks": sorted(task_ids)})]
    found = lock(free) if free else {}
    return {task_id: found.get(task_id, Purses()) for task_id in free}


def store(purses: Iterable[Purses]) -> None:
    """Store the changed ones, with the events of those that have come near, or are used up."""
    purses = list(purses)
    for one in purses:
        one.tell_skipped()
    changed = [purse for one in purses for purse in one.all if purse.changed]
    for purse in changed:
        if not purse.near and purse.used >= purse.most * _NEAR_SHARE:
            purse.near = True
            tell(NEAR, purse)
    if changed:
        changed.sort(key=lambda purse: (purse.task_id, purse.unit))
        run(
            "budgets/store",
            {
                "tasks": [purse.task_id for purse in changed],
                "units": [purse.unit for purse in changed],
                "used": [purse.used for purse in changed],
                "resets_at": [purse.resets_at for purse in changed],
                "near": [purse.near for purse in changed],
                "exceeded": [purse.exceeded for purse in changed],
            },
        )


def begin_run(task_id: UUID) -> None:
    """Count a run that was asked for, of a locked task; raise Conflict ``budget_exceeded``."""
    found = lock([task_id]).get(task_id)
    if found is None:
        return
    if not found.room:
        raise Conflict(refusal(found), code=BUDGET_EXCEEDED)
    found.spend({RUNS: Decimal(1)})
    store([found])


def give_back(runs: Mapping[UUID, int]) -> None:
    """Take back runs that were counted and are decided on anew, by task."""
    found = lock(runs) if runs else {}
    for task_id, one in found.items():
        one.spend({RUNS: Decimal(-runs[task_id])})
    store(found.values())


def refusal(purses: Purses) -> str:
    """Return why nothing may begin: the first budget that is used up, and until when."""
    first = purses.used_up()[0]
    return (
        f"The budget of this task is used up: {plain(first.used):g} of {plain(first.most):g} "
        f"{first.unit} in this {first.per}. It has a new one at {format_instant(first.resets_at)}; "
        "raise or remove the budget to run it before."
    )


def tell(name: str, purse: Purse) -> None:
    """Append the event of a budget."""
    outbox.append(purse.tenant_id, name, purse.task_id, purse.task_id, purse.facts())


def plain(value: Decimal) -> float:
    """Return an amount as JSON shows it: a whole one as an integer."""
    return int(value) if value == int(value) else float(value)


def _of_rows(found: Iterable[tuple[Any, ...]]) -> dict[UUID, Purses]:
    purses: dict[UUID, Purses] = {}
    for row in found:
        purses.setdefault(row[0], Purses()).all.append(_purse(row))
    return purses


def _purse(row: tuple[Any, ...]) -> Purse:
    *columns, timezone, now = row
    purse = Purse(*columns)
    if purse.resets_at <= now:
        purse.used, purse.near, purse.exceeded = Decimal(0), False, False
        purse.resets_at = end_of(purse.per, timezone, now)
    return purse
