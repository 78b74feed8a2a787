"""Dispatch of a scarce pool: each tenant gets capacity by its weight, priority counts within it.

While workers have capacity for everything that is due, the ordinary claim serves a pool. A pool
goes by shares while due work waits and less than half of the workers' hold is free, or while a
tenant is limited. Schedulers then claim from all partitions that are ready, so that each of them
sees all tenants: all divide their own claims by the same weights, without any state in common.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from executions.dispatch import scarcity
from executions.dispatch.band_shares import Tenths
from executions.dispatch.destination_capacity import Pass
from executions.dispatch.shares import levels
from executions.dispatch.shares.accounts import Accounts, Period
from executions.dispatch.shares.flows import Flow, Flows
from executions.dispatch.shares.levels import Claimant
from executions.dispatch.shares.pace import Paces
from executions.dispatch.tenant_limits import TenantLimits
from executions.dispatch.worker_capacity import Capacity
from shared.conf import conf
from shared.sql_arrays import of_integers, of_moments, of_uuids
from tenants.models.tenant import DEFAULT_WEIGHT
from tenants.quotas.weights import weights
from wire.messages import Claimed

#: Work that is nearer than this is claimed ahead: it need not wait for the next look.
_AHEAD_SECONDS = 0.5
#: Pools go by shares for so long after a tenant has reached a limit. The places of one with a
#: backlog come one by one as its work ends; the ordinary claim would lock a whole batch of the
#: backlog for each of them, and would meet no work of other tenants behind it.
_LIMITED_SECONDS = 1.0
#: The first round leaves places that its tenants do not need; the second one gives them to others.
_ROUNDS = 2

#: Claims by parameters; returns the claimed rows, and how many were parked instead.
Claim = Callable[[dict[str, Any]], tuple[list[Claimed], int]]


def ahead() -> float:
    """Return how many seconds before its due time work is claimed by shares."""
    return min(_AHEAD_SECONDS, conf().release_seconds)


@dataclass(slots=True)
class Given:
    """The result of a pass: what was claimed, and what is left."""

    claimed: int = 0
    #: Whether more could be claimed at once.
    more: bool = False
    #: Whether due work waits for capacity or for a limit of its tenant.
    waits: bool = False


@dataclass(slots=True)
class _Pool:
    """What one pool's tenants wait for, and what they got."""

    name: str
    flows: Flows
    #: Claims by weight, of the tenants that wait; and what a newcomer begins with.
    received: dict[UUID, float] = field(default_factory=dict)
    least: float = 0.0
    period: Period = field(default_factory=Period)
    #: The tenants with due work at the begin of the period.
    waiting: Mapping[UUID, Flow] = field(default_factory=dict)

    def begin_period(self) -> None:
        """Begin a period with what a look has found; forget the other tenants.

        A newcomer begins with the least that those have received who waited before.
        """
        self.waiting = dict(self.flows.known)
        kept = self.waiting.keys() | self.period.received.keys()
        known = {one: got for one, got in self.received.items() if one in kept}
        self.least = min(known.values(), default=self.least)
        self.received = {**dict.fromkeys(self.waiting, self.least), **known}
        self.period = Period()


class ByShares:
    """The pools that one scheduler dispatches by shares, and what their tenants got so far."""

    def __init__(self, scheduler: str) -> None:
        self.paces = Paces()
        self.accounts = Accounts()
        self.limits = TenantLimits()
        self._scheduler = scheduler
        self._own: set[str] = set()
        self._pools: dict[str, _Pool] = {}
        self._tenths = Tenths()
        self._limited_until = -math.inf

    def pools(self, among: Collection[str]) -> frozenset[str]:
        """Return the pools that go by shares now; raise ``ConnectionFailed`` without Redis."""
        self._own &= set(among)
        self.limits.look()
        noted = scarcity.noted_by_others(among, self._scheduler)
        found = frozenset(among)
        now = time.monotonic()
        if self.limits.reached:
            self._limited_until = now + _LIMITED_SECONDS
        if now >= self._limited_until:
            found &= self._own | noted
        for pool in self._pools.keys() - found:
            self._account(self._pools.pop(pool))
        self.paces.keep(found)
        return found

    def note(self, pool: str, *, scarce: bool) -> None:
        """Note whether a pass has left due work that waits for the capacity of a pool."""
        if scarce:
            self._own.add(pool)
        else:
            self._own.discard(pool)

    def publish(self) -> None:
        """Let other processes know which pools are scarce; keep the figures of past minutes."""
        scarcity.note(sorted(self._own), self._scheduler)
        self.accounts.keep()

    def most_alone(self, pool: str, look: Pass, capacity: Capacity) -> int | None:
        """Return how much of a pool's only tenant may be claimed; None where there are more.

        Looks at the tenants that wait, where that is due. A single tenant needs no shares: the
        ordinary claim serves it.
        """
        found = self._pools.setdefault(pool, _Pool(pool, Flows(pool)))
        if found.flows.is_old:
            self._account(found)
            found.flows.look(ahead())
            found.begin_period()
        in_hand = self._in_hand(found, look)
        if len(in_hand) > 1:
            return None
        limits = self._limits(pool, in_hand, capacity)
        return min(limits.values(), default=capacity.both)

    def hand_out(
        self, pool: str, wanted: int, look: Pass, capacity: Capacity, claim: Claim
    ) -> Given:
        """Claim up to ``wanted`` for the tenants that wait, after :meth:`most_alone`."""
        found, given = self._pools[pool], Given()
        parked = 0
        for _ in range(_ROUNDS):
            claimants = self._claimants(found, look, capacity)
            places = levels.places(claimants, wanted - given.claimed)
            if not places:
                break
            batch, put_by = claim(self._parameters(found, places, look))
            parked += put_by
            given.claimed += len(batch)
            self._note_claim(found, places, Counter(row.tenant_id for row in batch), put_by)
            given.more = bool(given.claimed or parked) and any(
                one.tenant in found.flows.known
                and (one.most is None or one.most > places.get(one.tenant, 0))
                for one in claimants
            )
            if given.claimed >= wanted:
                break
        given.waits = bool(found.flows.known)
        return given

    def forget(self) -> None:
        """Let the next looks be whole ones: work was written that may be due before all others."""
        for pool in self._pools.values():
            pool.flows.forget()

    def note_alone(self, pool: str, batch: Collection[Claimed]) -> None:
        """Note what the ordinary claim has taken of a pool's only tenant."""
        self._pools[pool].period.received.update(row.tenant_id for row in batch)

    def _in_hand(self, found: _Pool, look: Pass) -> dict[UUID, int]:
        """Return the tenants with leased or waiting work, and what is leased of each."""
        leased = look.tenants.get(found.name, {})
        waiting = [*found.flows.known, *look.tenants_with_parked(found.name)]
        return {**dict.fromkeys(waiting, 0), **leased}

    def _limits(
        self, pool: str, in_hand: Mapping[UUID, int], capacity: Capacity
    ) -> dict[UUID, int]:
        """Return how many more of each limited tenant may be claimed: by its pace and its caps."""
        limits = self.paces.most(pool, capacity, in_hand)
        for tenant in in_hand:
            if (most := self.limits.left(tenant)) is not None:
                limits[tenant] = max(0, min(most, limits.get(tenant, most)))
        return limits

    def _claimants(self, found: _Pool, look: Pass, capacity: Capacity) -> list[Claimant]:
        in_hand, known = self._in_hand(found, look), weights()
        limits = self._limits(found.name, in_hand, capacity)
        return [
            Claimant(
                tenant,
                known.get(tenant, DEFAULT_WEIGHT),
                in_hand[tenant],
                found.received.get(tenant, found.least),
                limits.get(tenant),
            )
            for tenant in {*found.flows.known, *look.tenants_with_parked(found.name)}
        ]

    def _parameters(self, found: _Pool, places: Mapping[UUID, int], look: Pass) -> dict[str, Any]:
        """Return the places, and where the claim finds the work of each tenant."""
        with_parked = look.tenants_with_parked(found.name)
        heads: list[tuple[int, Any]] = []
        begins, ends, tenths, eldest = [], [], [], []
        for tenant, most in places.items():
            flow = found.flows.known.get(tenant, _NO_FLOW)
            begins.append(len(heads) + 1)
            heads += flow.heads
            ends.append(len(heads))
            mixed = len(flow.heads) > 1 or tenant in with_parked
            tenths.append(self._tenths.of((found.name, tenant), most) if mixed else 0)
            eldest.append(flow.eldest)
        return {
            **look.parameters_of(found.name, places),
            "pool": found.name,
            "limit": sum(places.values()),
            "window": ahead(),
            "of_tenants": of_uuids(places),
            "places": of_integers(places.values()),
            "tenths": of_integers(tenths),
            "oldest_of": of_integers(eldest),
            "begins": of_integers(begins),
            "ends": of_integers(ends),
            "levels": of_integers(priority for priority, _ in heads),
            "firsts": of_moments(first for _, first in heads),
        }

    def _note_claim(
        self, found: _Pool, places: Mapping[UUID, int], got: Counter[UUID], parked: int
    ) -> None:
        """Note what came; tenants that got less than their places are out until a look."""
        drained = {tenant for tenant, most in places.items() if got[tenant] < most}
        if parked:
            # Due work beyond the capacity of a destination took places: there may be other work.
            drained = set()
        found.flows.claimed(drained, {tenant for tenant in drained if not got[tenant]})
        found.period.drained |= drained
        found.period.received.update(got)
        known, least = weights(), found.least
        self.limits.took(got)
        for tenant, count in got.items():
            before = found.received.get(tenant, least)
            found.received[tenant] = before + count / known.get(tenant, DEFAULT_WEIGHT)

    def _account(self, found: _Pool) -> None:
        self.accounts.add(found.name, found.period, found.waiting, weights())


_NO_FLOW = Flow()
