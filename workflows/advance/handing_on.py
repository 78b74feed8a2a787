"""Which steps that begin take the places of steps that have just ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from executions.choices import COMPENSATION
from executions.dispatch.handing_on import Chance, HandingOn
from shared.sql import Asked, Done
from workflows.advance.records import Told
from workflows.advance.run import Run
from workflows.plan import Call

#: Ends of executions that a worker had; one that was taken back has left no place.
_BY_WORKER = ("SUCCEEDED", "FAILED")


class PlacesLeft:
    """The places that steps have left in one advance, and the steps that take them."""

    def __init__(self, told: Sequence[Told], handing_on: HandingOn, chance: Chance) -> None:
        self._told, self._handing_on, self._chance = told, handing_on, chance
        self._pools: dict[UUID, str] = {}

    def claiming(self, runs: Sequence[Run]) -> list[Asked]:
        """Return the statement that claims the steps, for after their begin; none without any."""
        self._pools = in_places_left(runs, self._told, self._chance.pools)
        if not self._pools:
            return []
        return [self._handing_on.claiming(self._pools, self._chance)]

    def take(self, found: Sequence[Done]) -> set[UUID]:
        """Publish after the commit what the statement has claimed; return these executions."""
        return {
            execution_id
            for one in found
            for execution_id in self._handing_on.take(one.rows, self._pools, self._chance)
        }


def in_places_left(
    runs: Sequence[Run], told: Iterable[Told], pools: frozenset[str]
) -> dict[UUID, str]:
    """Return executions that begin with their pools: of these, and as many as have ended there.

    Urgent ones come first; none of a step that this advance takes back.
    """
    by_id = {one.row.id: one for one in runs}
    left = Counter(
        call.pool
        for event in told
        if event.kind == "ended" and event.status in _BY_WORKER and event.step is not None
        # What undid a step may have had a place in another pool.
        if event.item != COMPENSATION
        if (call := by_id[event.run_id].plan.calls.get(event.step)) is not None
    )
    begun: list[tuple[Call, UUID]] = [
        (one.plan.calls[begin.step], begin.execution_id)
        for one in runs
        for begin in one.changes.begins
        if begin.child is None and not begin.undoes and begin.step not in one.to_take_back
    ]
    found: dict[UUID, str] = {}
    for call, execution_id in sorted(begun, key=lambda pair: pair[0].priority):
        if call.pool in pools and left[call.pool] > 0:
            left[call.pool] -= 1
            found[execution_id] = call.pool
    return found
