"""Limit the work of each destination at the workers, so that none takes the capacity of others.

Dispatch asks before it claims. Work beyond the capacity of its destination is parked: it leaves the
index of due work, where it would be before all work due later, and returns by destination, the
oldest first. The start guard is exact; this only keeps useless work away from it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from executions.dispatch import circuits
from executions.dispatch.band_shares import Tenths, priorities_of
from executions.dispatch.circuits import Circuit
from executions.dispatch.room import LOOK_SECONDS, Room, of_circuit, of_rate, prefetch
from executions.dispatch.shares.pace import InHand, Paces
from executions.dispatch.worker_capacity import Capacity
from executions.loop import looks
from executions.loop.lower_bounds import NEVER, LowerBounds
from shared.conf import conf
from shared.sql import rows
from tasks.definition import WEBHOOK_POOL
from wire.destination_key import key_of, tenant_and_host
from wire.messages import Claimed
from wire.priorities import PRIORITIES, band_of

#: Destinations with parked work that one pass looks at; the next pass continues after them.
_AT_ONCE = 500
#: A destination that runs more than this share of a pool's slots always counts as slow.
_SLOW_SHARE = 0.4
#: In this many claims each lower band gets the capacity first once, so that none starves.
_TURNS = 10
#: Passes, and seconds, for which the result of a look serves: claims are subtracted from it, and
#: the next look finds freed capacity. Counting leased work costs more than claiming a few hundred.
_GOOD_FOR_PASSES = 3
_GOOD_FOR_SECONDS = 0.25

_Key = tuple[UUID, str]
_FIRST: _Key = (UUID(int=0), "")


@dataclass(slots=True)
class Leased:
    """Leased work by pool, and by the destinations that were asked for or have much of it."""

    by_pool: dict[str, int] = field(default_factory=dict)
    destinations: int = 0
    #: Leased executions, and the queued ones among them.
    of: dict[_Key, tuple[int, int]] = field(default_factory=dict)
    #: Of the pools that go by shares: the leased work of each tenant.
    tenants: dict[str, dict[UUID, InHand]] = field(default_factory=dict)


@dataclass(slots=True)
class Pass:
    """The capacity of one pass: of the pools, and of destinations that have less than the pool."""

    pools: dict[str, int]
    rooms: dict[_Key, Room] = field(default_factory=dict)
    parked: frozenset[_Key] = frozenset()
    turn: int = 0
    #: Priorities that may have work to claim.
    priorities: Collection[int] = PRIORITIES
    tenths: Tenths = field(default_factory=Tenths)
    partitions: Sequence[int] = ()
    #: Claimed by this pass, by pool.
    claimed: dict[str, int] = field(default_factory=dict)
    #: Whether this pass has parked work: the next look finds out what it waits for.
    has_parked: bool = False
    #: Leased work of each tenant, of the pools that go by shares.
    tenants: Mapping[str, dict[UUID, int]] = field(default_factory=dict)

    @property
    def bands(self) -> set[int]:
        """The bands that may have work to claim."""
        return {band_of(priority) for priority in self.priorities}

    @property
    def next_in(self) -> float:
        """Seconds until parked work should be looked at again."""
        waits = [self.rooms[key].look_in for key in self.parked if key in self.rooms]
        return min(waits, default=LOOK_SECONDS if self.has_parked else math.inf)

    def parameters(self, pool: str, band: int) -> dict[str, Any]:
        """Return the capacity in the form that the claim of a band reads."""
        found = self._rooms_of(pool)
        # Mostly the urgent band goes first; in turn a lower one, and the bands above get nothing.
        first = {_TURNS - 1: 2, _TURNS // 2: 1}.get(self.turn % _TURNS, 0)
        rooms = [0 if band < first else max(0, one.room) for one in found.values()]
        return self._columns_of(found, rooms, priorities_of(band))

    def parameters_of(self, pool: str, tenants: Collection[UUID]) -> dict[str, Any]:
        """Return the same for a claim of some tenants' work of all priorities."""
        found = {key: room for key, room in self._rooms_of(pool).items() if key[0] in tenants}
        rooms = [max(0, one.room) for one in found.values()]
        return {**self._columns_of(found, rooms, list(PRIORITIES)), "priorities": list(PRIORITIES)}

    def tenants_with_parked(self, pool: str) -> set[UUID]:
        """Return the tenants whose parked work may be claimed."""
        found = self._rooms_of(pool)
        return {key[0] for key in self.parked if key in found and found[key].room > 0}

    def awaits_slots(self, pool: str, capacity: Capacity) -> bool:
        """Return whether parked work of several tenants waits for slots, of which none is free.

        Nothing else tells of it: parked work is in no look at due work.
        """
        found = self._rooms_of(pool)
        tenants = {key[0] for key in self.parked if key in found and found[key].of_slots}
        return len(tenants) > 1 and self.left[pool] <= capacity.hold

    def _rooms_of(self, pool: str) -> dict[_Key, Room]:
        return self.rooms if pool == WEBHOOK_POOL else {}

    def _columns_of(
        self, found: dict[_Key, Room], rooms: list[int], priorities: list[int]
    ) -> dict[str, Any]:
        return {
            **_columns(list(found)),
            "rooms": rooms,
            **self._for_oldest(priorities, list(found), rooms),
            "why": [one.why for one in found.values()],
        }

    def _for_oldest(self, among: list[int], keys: list[_Key], rooms: list[int]) -> dict[str, Any]:
        """Return one place in ten of each destination for its oldest parked work of these."""
        places = [
            self.tenths.of((key, among[0]), room) if key in self.parked else 0
            for key, room in zip(keys, rooms, strict=True)
        ]
        asked = [key for key, place in zip(keys, places, strict=True) if place]
        eldest = _eldest(asked, among, self.partitions) if asked else {}
        return {"old_rooms": places, "eldests": [eldest.get(key) for key in keys]}

    @property
    def left(self) -> dict[str, int]:
        """The capacity of the pools less the claims of this pass."""
        return {pool: room - self.claimed.get(pool, 0) for pool, room in self.pools.items()}

    def took(self, pool: str, claimed: Sequence[Claimed], parked: int) -> None:
        """Subtract claimed executions; note whether others were parked instead."""
        self.has_parked = self.has_parked or parked > 0
        self.claimed[pool] = self.claimed.get(pool, 0) + len(claimed)
        tenants = self.tenants.get(pool)
        for row in claimed:
            if tenants is not None:
                tenants[row.tenant_id] = tenants.get(row.tenant_id, 0) + 1
            found = self.rooms.get((row.tenant_id, row.destination))
            if found:
                found.room -= 1


class Rooms:
    """Finds the capacity before each pass of one scheduler; looks at parked work once in a while.

    Remembers where the last look ended, and the capacity that the passes since then have left.
    ``paces`` learns of each count of the tenants' leased work.
    """

    def __init__(self, paces: Paces | None = None) -> None:
        self.paces = paces or Paces()
        #: Lower bounds of the due work of each priority.
        self.bounds = LowerBounds(len(PRIORITIES))
        self._leases = LowerBounds()
        self._tenths = Tenths()
        self._after: _Key = _FIRST
        self._turn = 0
        self._last = Pass({})
        self._looked_at = -math.inf
        #: Of the last whole look: its capacity, and the passes that have used it since.
        self._capacity: Mapping[str, Capacity] = {}
        self._passes = 0
        #: The pools that go by shares, and when their tenants' leased work was counted last.
        self._shared: frozenset[str] = frozenset()
        self._counted_at = NEVER

    def look(
        self,
        capacity: Mapping[str, Capacity],
        partitions: Sequence[int],
        shared: frozenset[str] = frozenset(),
    ) -> Pass:
        """Return the capacity as it is now, and the priorities of the partitions' due work.

        Of the pools ``shared`` also the leased work of each tenant. Raise ``ConnectionFailed``
        without Redis.
        """
        same, self._shared = shared <= self._shared, shared
        if self._last.parked and time.monotonic() - self._looked_at < LOOK_SECONDS:
            return self._between(capacity, partitions)
        first, any_parked = looks.first_work(list(capacity), partitions, self.bounds)
        due = [priority for priority in PRIORITIES if first[priority] is not None]
        if same and not any_parked and self._is_good_for(capacity):
            self._passes += 1
            self._turn += 1
            self._last = Pass(
                self._last.left,
                self._last.rooms,
                turn=self._turn,
                priorities=due,
                tenths=self._tenths,
                partitions=partitions,
                tenants=self._last.tenants,
            )
            return self._last
        parked = self._parked() if any_parked else []
        self._last = self._whole(capacity, parked)
        self._last.partitions = partitions
        # Parked work may be of any priority.
        self._last.priorities = PRIORITIES if parked else due
        self._looked_at, self._capacity, self._passes = time.monotonic(), dict(capacity), 0
        return self._last

    def _leased(self, asked: Iterable[_Key], many: int) -> Leased:
        keys = list(asked)
        found = Leased()
        [since] = self._leases.begin()
        first = []
        parameters = {**_columns(keys), "many": many, "since": since}
        parameters |= {"shared": list(self._shared), "before": self._counted_at}
        for pool, tenant, host, count, other, ends in rows("dispatch/leased", parameters):
            if host is None:
                found.tenants.setdefault(pool, {})[tenant] = InHand(count, other)
                self._counted_at = ends
            elif tenant is None:
                found.by_pool[pool] = count
                found.destinations += other
                first.append(ends)
            else:
                found.of[tenant, host] = (count, other)
        for pool, in_hand in found.tenants.items():
            self.paces.note(pool, self._counted_at, in_hand)
        self._leases.end([min(first, default=self.bounds.now)], self.bounds.now)
        # A lease that had ended when it was written is hidden; the next count has it. Schedulers
        # share the workers, whose leases are in all partitions.
        looks.sweep_leases(range(conf().partition_count), self._leases)
        return found

    def _is_good_for(self, capacity: Mapping[str, Capacity]) -> bool:
        """Return whether the next pass may use what the last one has left."""
        last = self._last
        return (
            self._passes < _GOOD_FOR_PASSES
            and time.monotonic() - self._looked_at < _GOOD_FOR_SECONDS
            and not (last.parked or last.has_parked)
            and capacity == self._capacity
            and all(left >= conf().dispatch_batch for left in last.left.values())
        )

    def _between(self, capacity: Mapping[str, Capacity], partitions: Sequence[int]) -> Pass:
        """Return the capacity; destinations with parked work keep the rest of the last look."""
        sight = _Sight(_webhooks(capacity), {}, self._leased((), _many(capacity)))
        left = {key: self._last.rooms[key] for key in self._last.parked}
        found = self._pass(capacity, sight, {**sight.rooms(()), **left}, self._last.parked)
        found.partitions = partitions
        return found

    def _whole(self, capacity: Mapping[str, Capacity], parked: Sequence[_Key]) -> Pass:
        known = {
            tenant_and_host(name): circuit
            for name, circuit in circuits.standing(
                [key_of(*key) for key in parked], lately=True
            ).items()
        }
        sight = _Sight(_webhooks(capacity), known, self._leased(known, _many(capacity)))
        return self._pass(capacity, sight, sight.rooms(parked), frozenset(parked))

    def _pass(
        self,
        capacity: Mapping[str, Capacity],
        sight: _Sight,
        rooms: dict[_Key, Room],
        parked: frozenset[_Key],
    ) -> Pass:
        self._turn += 1
        pools = {
            pool: max(0, one.both - sight.leased.by_pool.get(pool, 0))
            for pool, one in capacity.items()
        }
        tenants = {
            pool: {tenant: one.leased for tenant, one in sight.leased.tenants.get(pool, {}).items()}
            for pool in self._shared
        }
        return Pass(pools, rooms, parked, self._turn, tenths=self._tenths, tenants=tenants)

    def _parked(self) -> list[_Key]:
        """Return the next ``_AT_ONCE`` destinations with parked work, in their order."""
        tenant, host = self._after
        parameters = {"tenant": tenant, "host": host, "limit": _AT_ONCE}
        found = [(row[0], row[1]) for row in rows("dispatch/parked_destinations", parameters)]
        from_start = self._after == _FIRST
        self._after = found[-1] if len(found) == _AT_ONCE else _FIRST
        return found if found or from_start else self._parked()


def _webhooks(capacity: Mapping[str, Capacity]) -> Capacity:
    return capacity.get(WEBHOOK_POOL, Capacity(0, 0))


def _many(capacity: Mapping[str, Capacity]) -> int:
    """Return the leased work from which on a destination is looked at unasked."""
    return max(1, _webhooks(capacity).both // 2 - conf().dispatch_batch)


class _Sight:
    """The findings of one look, and the capacity that follows from them."""

    def __init__(self, webhooks: Capacity, known: Mapping[_Key, Circuit], leased: Leased) -> None:
        self.leased = leased
        self._webhooks = webhooks
        self._known = known
        keys = {*known, *leased.of}
        self._limits = _limits(list(keys)) if keys else {}
        self._slow = {key for key in keys if self._is_slow(key)}

    def rooms(self, parked: Iterable[_Key]) -> dict[_Key, Room]:
        """Return the capacity of each destination that is limited or has parked work."""
        # Parked work that no limit bounds any more.
        found = {key: Room(self._webhooks.both) for key in parked}
        for key in {*self._known, *self.leased.of}:
            room = min(self._bounds(key), key=lambda one: (one.room, -one.look_in), default=None)
            if room is not None:
                found[key] = room
        return found

    def _is_slow(self, key: _Key) -> bool:
        circuit, (count, queued) = self._circuit(key), self.leased.of.get(key, (0, 0))
        return circuit.waited or count - queued > _SLOW_SHARE * self._webhooks.slots

    def _circuit(self, key: _Key) -> Circuit:
        return self._known.get(key) or Circuit(0.0)

    def _bounds(self, key: _Key) -> Iterator[Room]:
        circuit, (count, queued) = self._circuit(key), self.leased.of.get(key, (0, 0))
        most, rate, breaker = self._limits.get(key, (None, None, True))
        if breaker and circuit.state != "closed":
            yield of_circuit(circuit, queued)
        if most is not None:
            yield Room(2 * most + prefetch(circuit) - count)
        if rate is not None:
            yield of_rate(circuit, rate, queued)
        if key in self._slow:
            # Workers give each slow destination as many slots as all of them leave free.
            share = self._webhooks.slots // (len(self._slow) + 1)
            yield Room(share + prefetch(circuit) - count, of_slots=True)
        elif self.leased.destinations > 1:
            yield Room(self._webhooks.both // 2 - count)


def _eldest(keys: Sequence[_Key], among: list[int], within: Sequence[int]) -> dict[_Key, int]:
    parameters = {"priorities": among, "partitions": within}
    found = rows("dispatch/parked_heads", {**_columns(keys), **parameters})
    return {(tenant, host): priority for tenant, host, priority in found}


def _limits(keys: Sequence[_Key]) -> dict[_Key, tuple[int | None, float | None, bool]]:
    found = rows("dispatch/limits", _columns(list(set(keys))))
    return {(tenant, host): (most, rate, breaker) for tenant, host, most, rate, breaker in found}


def _columns(keys: Sequence[_Key]) -> dict[str, Any]:
    return {"tenants": [tenant for tenant, _ in keys], "hosts": [host for _, host in keys]}
