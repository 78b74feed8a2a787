"""Runs under way take places of runs that have not begun.

A run that a step asks for, and the retry of a run, wait at the gate while a run under way waits for
them, and has places itself: of its own workflow, of its key, among the runs of its tenant. The run
that has the place at the gate may wait for exactly one of these. What has not begun can wait
anywhere, so it goes back to the gate, and gives its place to the run that is needed. Both would
wait for ever otherwise. A retry gives its place to runs that steps ask for only: two retries would
exchange theirs for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.choices import Trigger
from executions.gate import budgets
from shared.sql import rows, run
from tasks.budgets.purses import Purses, lock_free, store
from tasks.choices import BUDGET_EXCEEDED

#: Places of one task that one look exchanges.
_AT_ONCE = 100


class _Unbegun(NamedTuple):
    """A run that has a place and waits for another one, locked."""

    id: UUID
    is_retry: bool


class _Needed(NamedTuple):
    """A due run at the gate that a run under way waits for, locked."""

    id: UUID
    due_at: datetime
    trigger: str

    @property
    def gave_way(self) -> bool:
        """Of these only retries may have, and they were counted when they were asked for."""
        return False


def run_once(owner: Mapping[str, object], tasks: Collection[UUID], now: datetime) -> int:
    """Exchange places of tasks that the gate has just found without a free one; return how many.

    ``owner`` proves the ownership of their partitions, as :meth:`Partitions.parameters` returns it.
    """
    if not tasks:
        return 0
    wanted = {"tasks": list(tasks), "now": now, "limit": _AT_ONCE}
    return sum(
        _exchange({**owner, "now": now, "task": task_id, "limit": count}, budgeted=budgeted)
        for task_id, count, budgeted in rows("gate/needing", wanted)
    )


@transaction.atomic
def _exchange(given: dict[str, Any], *, budgeted: bool) -> int:
    # The races: a scheduler decides on the group, which its lock excludes; an edit, pause or cancel
    # changes the runs, which are then left out. As at the gate, a task with a budget is locked
    # before its executions, and nothing is waited for.
    task_id = given["task"]
    purses = lock_free([task_id]) if budgeted else {}
    if budgeted and task_id not in purses:
        return 0
    unbegun = [_Unbegun(*row) for row in rows("gate/lock_unbegun", given)]
    if not unbegun:
        return 0
    retries = any(not row.is_retry for row in unbegun)
    wanted = {**given, "limit": len(unbegun), "retries": retries}
    found = [_Needed(*row) for row in rows("gate/lock_needing", wanted)]
    needed, skipped = _within(purses.get(task_id), _fitting(unbegun, found))
    if needed:
        run("gate/put_back", {"ids": [row.id for row in unbegun[: len(needed)]]})
        waited = [False] * len(needed)
        run("gate/admit", {"ids": [row.id for row in needed], "waited": waited})
    store(purses.values())
    return len(needed) + skipped


def _fitting(unbegun: Sequence[_Unbegun], needed: Sequence[_Needed]) -> list[_Needed]:
    """Return the needed runs, in their order, without retries that had only another's place."""
    others = sum(not row.is_retry for row in unbegun)
    found: list[_Needed] = []
    for row in needed:
        if row.trigger != Trigger.RETRY or len(found) < others:
            found.append(row)
    return found


def _within(purses: Purses | None, needed: list[_Needed]) -> tuple[list[_Needed], int]:
    """Return the needed runs that the budget allows, counted; those that go back stay counted.

    Skip the others, as the gate does, which does not come to them before a place is free; return
    how many these are, too.
    """
    if purses is None or not needed:
        return needed, 0
    within, beyond = budgets.split(purses, needed)
    skipped = transitions.skip([row.id for row in beyond], BUDGET_EXCEEDED)
    purses.has_skipped = purses.has_skipped or bool(beyond)
    budgets.count(purses, within)
    return within, len(skipped)
