"""End runs that wait for each other, which would never end.

A run in flight keeps the places of its workflow and of its concurrency key while its steps ask for
runs of other workflows, and these wait for places of theirs. Two such runs may each have the place
that the other one needs. No rule of order excludes that: keys are free texts, and workflows change.
So the runs that wait are looked at together, in one snapshot. Of those that nothing can free any
more the newest one fails with ``runs_wait_for_each_other``; its step fails, and the others go on.

A wait that a pause, a suspension, a cancel or a worker explains is none of these.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from shared.notify import wake_schedulers_in
from shared.sql import rows
from workflows import transitions
from workflows.advance.records import RunEnd

log = logging.getLogger("workflows.deadlocks")

#: Reason and error code of a run that is ended.
RUNS_WAIT = "runs_wait_for_each_other"
_MESSAGE = (
    "It waited for a place of its workflow or of its concurrency key, and the run that has the "
    "place waited for a run above this one. Give both workflows one key, or begin the runs one "
    "after the other."
)
#: Waiting runs of one workflow, and of one key, that one look reads.
_AT_ONCE = 10_000


class Wait(NamedTuple):
    """A run that waits: for one of the places that ``holders`` and others have.

    ``above`` are the executions of the runs that wait for it. It gets a place when fewer than
    ``most`` are taken; ``holders`` are those that may themselves wait.
    """

    id: UUID
    above: frozenset[UUID]
    most: int
    holders: frozenset[UUID]

    @property
    def keeps(self) -> frozenset[UUID]:
        """The executions that cannot end before it has begun."""
        return self.above | {self.id}


class _Unbegun(NamedTuple):
    """A run that ends before it has begun, as :func:`workflows.transitions.end_runs` takes it."""

    id: UUID
    execution_id: UUID


def stuck(waits: Collection[Wait]) -> list[Wait]:
    """Return the runs that get no place when all else has ended, in their order."""
    left = {wait.id: wait for wait in waits}
    kept = Counter(one for wait in waits for one in wait.keeps)
    taken = {wait.id: sum(one in kept for one in wait.holders) for wait in waits}
    waiting_for = _index(waits, lambda wait: wait.holders)
    free = [wait for wait in waits if taken[wait.id] < wait.most]
    while free:
        ends = left.pop(free.pop().id, None)
        for one in ends.keeps if ends else ():
            kept[one] -= 1
            for wait in waiting_for.get(one, ()) if not kept[one] else ():
                taken[wait.id] -= 1
                if taken[wait.id] < wait.most:
                    free.append(wait)
    return list(left.values())


def to_end(waits: Collection[Wait]) -> Wait | None:
    """Return the newest run of a circle of runs that wait for each other; None without one."""
    found = sorted(stuck(waits))
    by_id = {wait.id: wait for wait in found}
    # A run waits for executions, and each of these, in brackets, for the runs that it waits for.
    graph = TopologicalSorter[object]()
    for wait in found:
        graph.add(wait.id, *((one,) for one in sorted(wait.holders)))
    for one, waiting in _index(found, lambda wait: wait.keeps).items():
        graph.add((one,), *(wait.id for wait in waiting))
    try:
        graph.prepare()
    except CycleError as error:
        return max(by_id[one] for one in error.args[1] if one in by_id)
    return None


def end_some() -> list[UUID]:
    """End one run of each tenant whose runs wait for each other; return the ended ones."""
    found = [_end_one(tenant_id, tasks) for tenant_id, tasks in rows("workflow_deadlocks/tenants")]
    ended = [one for one in found if one is not None]
    if ended:
        # Its place, and those of the runs above it, may become free.
        wake_schedulers_in(0.0)
    return ended


def _end_one(tenant_id: UUID, tasks: Sequence[UUID]) -> UUID | None:
    first = to_end(_waits(tenant_id, tasks))
    if first is None:
        return None
    with transaction.atomic():
        if not rows("workflow_deadlocks/lock", {"id": first.id}):
            return None
        # Again, with its row locked: the gate may have let it through, or a cancel freed others.
        if to_end(_waits(tenant_id, tasks)) != first:
            return None
        end = RunEnd(_Unbegun(first.id, first.id), "FAILED", RUNS_WAIT, message=_MESSAGE)
        transitions.end_runs([end], begun=False)
    log.warning("runs.deadlocked", extra={"tenant_id": str(tenant_id), "run_id": str(first.id)})
    return first.id


def _waits(tenant_id: UUID, tasks: Sequence[UUID]) -> list[Wait]:
    wanted = {"tenant": tenant_id, "tasks": list(tasks), "limit": _AT_ONCE}
    return [
        Wait(row[0], frozenset(row[1]), row[2], frozenset(row[3]))
        for row in rows("workflow_deadlocks/waits", wanted)
    ]


def _index(waits: Iterable[Wait], of: Callable[[Wait], Iterable[UUID]]) -> dict[UUID, list[Wait]]:
    """Return the waits by each execution that is one of theirs."""
    found: dict[UUID, list[Wait]] = {}
    for wait in waits:
        for one in of(wait):
            found.setdefault(one, []).append(wait)
    return found
