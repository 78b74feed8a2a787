"""How tasks kept their own targets: of starts and of durations, with their error budgets.

Read from what the alerter has counted by day in UTC, with no scan of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from executions.ledger.objectives import BUDGET_DAYS
from executions.loop.clocks import database_now
from shared.sql import rows

#: One in this many starts or runs of a task may miss its target, as of all starts.
ONE_BAD_IN = 1_000
#: Tasks that are shown: those that missed most.
MOST_TASKS = 50
START, DURATION = "start", "duration"


@dataclass(frozen=True, slots=True)
class TargetFigure:
    """How one target of a task was kept in 30 days, and on the last of them."""

    #: ``start`` or ``duration``.
    target: str
    seconds: float
    total: int
    bad: int
    day_total: int
    day_bad: int

    @property
    def left(self) -> float:
        """Return the part of the budget that is left, 1 for all; below 0 where it is overspent."""
        return 1.0 - self.bad * ONE_BAD_IN / self.total if self.total else 1.0

    @property
    def burn_rate(self) -> float:
        """Return how many times as fast as allowed the budget was spent on the last day."""
        return self.day_bad * ONE_BAD_IN / self.day_total if self.day_total else 0.0


@dataclass(frozen=True, slots=True)
class TaskTargets:
    """A task with its targets, and how it kept them."""

    task_id: UUID
    name: str
    figures: list[TargetFigure]


def task_targets(tenant_id: UUID, task_id: UUID | None = None) -> list[TaskTargets]:
    """Return the tasks of a tenant that have targets and have run, those that missed most first.

    With ``task_id`` that task alone; none where it has no target or has not run.
    """
    asked = {
        "tenant": tenant_id,
        "task": task_id,
        "now": database_now(),
        "days": BUDGET_DAYS,
        "most": MOST_TASKS,
    }
    found = rows("objective_reads/targets_of", asked)
    return [TaskTargets(row[0], row[1], list(_figures(*row[2:]))) for row in found]


def _figures(within: float | None, longest: float | None, *counts: int) -> Iterator[TargetFigure]:
    starts, late, runs, long, day_starts, day_late, day_runs, day_long = counts
    if within is not None:
        yield TargetFigure(START, within, starts, late, day_starts, day_late)
    if longest is not None:
        yield TargetFigure(DURATION, longest, runs, long, day_runs, day_long)
