"""Charge the seconds and the reported units of ended attempts to the budgets of their tasks.

``transitions`` calls it in the transaction that records the attempts. For tasks without a budget it
asks nothing: their work does not wait for the gate. Steps of workflows are charged to the workflow
and know nothing of its gate: one statement asks for all of a batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from shared.sql import Asked, run
from tasks.budgets import purses
from tasks.budgets.units import SECONDS
from tasks.versions import is_of_step, is_redirected


class Ended(Protocol):
    """An ended attempt."""

    @property
    def id(self) -> UUID:
        """Its execution."""

    @property
    def task_id(self) -> UUID:
        """The task of the execution."""

    @property
    def revision(self) -> int:
        """The version that it ran under."""

    @property
    def milliseconds(self) -> int:
        """How long it took."""


class Reported(Protocol):
    """What was reported of an attempt."""

    @property
    def execution_id(self) -> UUID:
        """Its execution."""

    @property
    def cost(self) -> Mapping[str, float]:
        """What it cost, by unit."""


def charge(
    ended: Sequence[Ended],
    reports: Sequence[Reported],
    gated: Collection[UUID],
    behind: Sequence[Asked] = (),
) -> None:
    """Charge ended attempts; ``gated`` are the tasks whose work waits for the gate.

    A replay into another place is not charged. The statements ``behind`` run after the budgets are
    locked, in the same round trip.
    """
    charged = [row for row in ended if _may_be_charged(row, gated)]
    if not charged:
        for asked in behind:
            run(*asked)
        return
    found = purses.lock({row.task_id for row in charged}, behind)
    if not found:
        return
    costs = {report.execution_id: report.cost for report in reports}
    spent: dict[UUID, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in charged:
        of_task = spent[row.task_id]
        of_task[SECONDS] += Decimal(row.milliseconds) / 1000
        for unit, amount in costs.get(row.id, {}).items():
            of_task[unit] += Decimal(str(amount))
    for task_id, one in found.items():
        one.spend(spent[task_id])
    purses.store(found.values())


def _may_be_charged(row: Ended, gated: Collection[UUID]) -> bool:
    if is_of_step(row.revision):
        return True
    return row.task_id in gated and not is_redirected(row.revision)
