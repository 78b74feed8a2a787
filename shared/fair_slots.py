"""Slots of a process for which callers wait, shared by tenants; for an event loop.

Used for programs, handlers, the resolver's threads and token endpoints. Replaces a semaphore, whose
waiters go on in the order in which they came, so that one tenant's backlog delays all others.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from shared.fair_order import FairOrder
from shared.slot_shares import SlotShares, kept_of

#: One slot in this many goes to the caller of a tenant that has waited longest.
_OLDEST_EVERY = 10
#: Callers that have left are removed when they are this many, and half of those that wait.
_GONE_AT_LEAST = 8

_Row = tuple[float, int, "asyncio.Future[None]"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who wants a slot: the tenant, its weight, and the place among its other callers."""

    tenant: str
    weight: float = 1.0
    priority: int = 0
    #: Since when its work is due; the order among equals is that of arrival.
    due: float = 0.0


class FairSlots:
    """A number of slots; free ones are given out at once, others in the order of shares.

    ``divided``: a tenant takes as many slots as it leaves free, however long it is alone.
    """

    def __init__(
        self, slots: int, *, divided: bool = False, clock: Callable[[], float] = monotonic
    ) -> None:
        kept = slots if divided else kept_of(slots)
        self._shares = SlotShares(kept, math.inf) if divided else SlotShares(kept)
        self._order: FairOrder[_Row] = FairOrder(_OLDEST_EVERY, kept)
        self._free = slots
        self._clock = clock
        self._numbers = itertools.count()
        #: Callers of each tenant that have left since those were last removed from the order.
        self._gone: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """How many callers are in the order."""
        return len(self._order)

    @asynccontextmanager
    async def slot(self, caller: Caller) -> AsyncIterator[None]:
        """Hold a slot for a block, after waiting for it."""
        await self._take(caller)
        try:
            yield
        finally:
            self._give_back(caller.tenant)

    async def _take(self, caller: Caller) -> None:
        now = self._clock()
        # Waiting callers are of tenants that may take none of the free slots.
        if self._free and self._shares.may_take(caller.tenant, self._free, now):
            self._hand_out(caller.tenant, now)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        row = (caller.due, next(self._numbers), turn)
        self._order.push(caller.tenant, 1.0 / caller.weight, caller.priority, row)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(caller.tenant)
            else:
                self._give_back(caller.tenant)
            raise

    def _hand_out(self, tenant: str, now: float) -> None:
        self._free -= 1
        self._shares.take(tenant, now)

    def _give_back(self, tenant: str) -> None:
        self._free += 1
        self._shares.give_back(tenant)
        order, now = self._order, self._clock()
        while self._free and (first := order.first()) is not None:
            if not self._shares.may_take(first, self._free, now):
                order.set_aside()
                continue
            turn = order.pop()[2]
            if not turn.done():
                order.started()
                self._hand_out(first, now)
                turn.set_result(None)
        order.restore()
        if not order:
            self._gone.clear()

    def _leave(self, tenant: str) -> None:
        """Remove the tenant's callers that wait no longer when they are many."""
        self._gone[tenant] += 1
        gone = self._gone[tenant]
        if gone >= _GONE_AT_LEAST and 2 * gone >= self._order.waiting(tenant):
            self._order.remove(tenant, lambda row: row[2].done())
            del self._gone[tenant]
