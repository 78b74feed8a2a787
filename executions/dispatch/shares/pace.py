"""How fast the work of each tenant ends, and how much of slow work may be in the workers' hands.

Counting starts does not protect from slow work: a tenant whose calls take 30 seconds would fill the
slots and the hold of all workers, and a quick tenant would wait for their ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from executions.dispatch.worker_capacity import Capacity

#: A tenant always gets what it ends in this time.
_SECONDS = 2.0
#: Executions of a slow tenant beside the ones that run, so that no slot of its share stays empty.
_AHEAD = 5


class InHand(NamedTuple):
    """Leased work of a tenant in a pool, and how much of it was leased at the last count, too."""

    leased: int
    kept: int


@dataclass(slots=True)
class _Ends:
    """Ends and the seconds in which they were counted; both fade."""

    count: float = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class _Counted:
    """The last count of a pool."""

    at: datetime
    in_hand: Mapping[UUID, InHand]
    ends: dict[UUID, _Ends] = field(default_factory=dict)


class Paces:
    """The ends per second of each tenant, from one count of leased work to the next."""

    def __init__(self) -> None:
        self._pools: dict[str, _Counted] = {}

    def note(self, pool: str, at: datetime, in_hand: Mapping[UUID, InHand]) -> None:
        """Note a count of a pool, by the database's clock; one of the same moment changes nothing.

        Work that was leased and ended between two counts is not seen: a pace may be too low by
        that, which matters for no tenant whose leased work is far below the slots.
        """
        last = self._pools.get(pool)
        if last is None:
            self._pools[pool] = _Counted(at, in_hand)
            return
        seconds = (at - last.at).total_seconds()
        if seconds <= 0:
            return
        fading = math.exp(-seconds / _SECONDS)
        ends: dict[UUID, _Ends] = {}
        for tenant in in_hand.keys() | last.in_hand.keys():
            before = last.in_hand.get(tenant, _NONE).leased
            ended = max(0, before - in_hand.get(tenant, _NONE).kept)
            so_far = last.ends.get(tenant, _Ends())
            ends[tenant] = _Ends(so_far.count * fading + ended, so_far.seconds * fading + seconds)
        self._pools[pool] = _Counted(at, in_hand, ends)

    def keep(self, pools: Collection[str]) -> None:
        """Forget the pools that are not named."""
        self._pools = {pool: found for pool, found in self._pools.items() if pool in pools}

    def rate(self, pool: str, tenant: UUID) -> float:
        """Return how many executions end in a second; 0 where none has been seen to end."""
        found = self._pools.get(pool)
        ends = found.ends.get(tenant) if found else None
        return ends.rate if ends else 0.0

    def most(self, pool: str, capacity: Capacity, in_hand: Mapping[UUID, int]) -> dict[UUID, int]:
        """Return how many more of each tenant may be leased; tenants without a limit are left out.

        ``in_hand`` are the tenants that have due or leased work, and what is leased of each. Slow
        tenants get as many slots as they leave free, and what ends in two seconds. A tenant that is
        alone gets half of the hold at least.
        """
        rates = {tenant: self.rate(pool, tenant) for tenant in in_hand}
        quick = {tenant for tenant, rate in rates.items() if rate >= max(1, capacity.slots)}
        if len(in_hand) == 1:
            [(tenant, leased)] = in_hand.items()
            alone = capacity.slots + max(capacity.hold // 2, self._own(rates[tenant]))
            return {} if tenant in quick else {tenant: max(0, alone - leased)}
        slow = sum(
            tenant not in quick and leased > self._own(rates[tenant])
            for tenant, leased in in_hand.items()
        )
        share = capacity.slots // (max(1, slow) + 1)
        return {
            tenant: max(0, share + self._own(rates[tenant]) - leased)
            for tenant, leased in in_hand.items()
            if tenant not in quick
        }

    @staticmethod
    def _own(rate: float) -> int:
        return _AHEAD + math.ceil(_SECONDS * rate)


_NONE = InHand(0, 0)
