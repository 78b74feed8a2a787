"""Limits of tenants: how much of each the workers may have, so that none waits in their hands.

The start guard is exact; dispatch only keeps useless work away from it. A tenant that has reached a
limit is left out of the claim: its work stays in the ledger as it is, and other tenants use the
capacity. While no tenant has such a limit, nothing is asked. A pass names only tenants of which
workers have something, and those with limits of their own: for the others their tier is enough.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import cast
from uuid import UUID

from shared.conf import conf
from shared.redis_client import FLYING_PREFIX, client, lua
from shared.sql import rows
from tenants.quotas import known
from tenants.quotas.limits import Limits, resolve
from wire.destination_key import limits_text

log = logging.getLogger("executions.engine.dispatch")

#: Executions sent before they can start, so that no place of a tenant stays empty.
_AHEAD = 5
#: Seconds whose work is sent ahead of a rate: a slot is kept no longer.
_KEPT_SECONDS = 2
#: Seconds between looks for places whose work has ended untold, and places freed at one time.
_FREE_SECONDS, _FREED_AT_ONCE = 5.0, 1000
#: Tenants whose places one question to Redis asks for.
_ASKED_AT_ONCE = 500
#: The incarnation of Redis for which the places in use were noted.
_NOTED_KEY = "punctual:places_noted"


def texts(tenants: Iterable[UUID]) -> dict[UUID, str]:
    """Return the limits of those of the tenants that have any, as the start guard reads them."""
    limited = known.limits_of_executions()
    if not limited:
        return {}
    return {tenant: _text(limited[tenant]) for tenant in tenants if tenant in limited}


def _text(limits: Limits) -> str:
    return limits_text(limits.executions_in_flight, limits.executions_per_second, None)


class TenantLimits:
    """The places that limited tenants have left at the workers, for one scheduler.

    ``places`` has, by tenant of which workers have something, how many executions may be sent; 0 or
    less for none. :meth:`left` knows those of any tenant. The limits hold for all pools together.
    """

    def __init__(self) -> None:
        self.places: dict[UUID, int] = {}
        self._limited: Mapping[UUID, Limits] = {}
        self._freed_at = float("-inf")

    def look(self) -> None:
        """Count what workers have of each limited tenant, before a pass."""
        limited = self._limited = known.limits_of_executions()
        self.places = {}
        if not limited:
            return
        if monotonic() - self._freed_at >= _FREE_SECONDS:
            self._freed_at = monotonic()
            free_ended(_with_places(limited))
        for tenant, count, queued in rows("dispatch/leased_by_tenant"):
            if tenant in limited:
                self.places[tenant] = _places(limited[tenant], count, queued)

    @property
    def bind(self) -> bool:
        """Whether any tenant has a limit."""
        return bool(self._limited or self.places)

    def left(self, tenant: UUID) -> int | None:
        """Return how many executions of a tenant may be sent; None for any number."""
        if tenant in self.places:
            return self.places[tenant]
        limits = self._limited.get(tenant)
        return None if limits is None else _places(limits, 0, 0)

    @property
    def reached(self) -> bool:
        """Whether workers have as much of some tenant as they may."""
        return any(places <= 0 for places in self.places.values())

    def took(self, claimed: Mapping[UUID, int]) -> None:
        """Subtract what was claimed of each tenant."""
        if self.bind:
            for tenant, count in claimed.items():
                if (left := self.left(tenant)) is not None:
                    self.places[tenant] = left - count

    def parameters(self) -> dict[str, object]:
        """Return the limits in the form that the claim reads; empty without any."""
        if not self.bind:
            return {}
        named = {one: self.left(one) or 0 for one in known.limited_apart()} | self.places
        open_ = {tenant: places for tenant, places in named.items() if places > 0}
        tiers = _places_of_tiers()
        return {
            "limited": list(open_),
            "places": list(open_.values()),
            "left_out": [tenant for tenant in named if tenant not in open_],
            "tiers": list(tiers),
            "of_tiers": list(tiers.values()),
        }


def _places_of_tiers() -> dict[str, int]:
    """Return how many executions may be sent of a tenant of each tier that has none at workers."""
    found = {tier: resolve(tier, None, unlimited=False) for tier in conf().tiers}
    return {tier: _places(one, 0, 0) for tier, one in found.items() if one.bounds_executions}


def _places(limits: Limits, leased: int, queued: int) -> int:
    places = []
    if limits.executions_in_flight is not None:
        places.append(2 * limits.executions_in_flight + _AHEAD - leased)
    if limits.executions_per_second is not None:
        places.append(_KEPT_SECONDS * limits.executions_per_second + 1 - queued)
    return min(places)


def in_flight_of(tenant_id: UUID) -> int:
    """Return how many executions of a tenant the workers run now, as the ledger knows."""
    found = rows("dispatch/leased_of_tenants", {"tenants": [tenant_id]})
    return found[0][1] - found[0][2] if found else 0


def _with_places(limited: Mapping[UUID, Limits]) -> list[UUID]:
    return [one for one, limits in limited.items() if limits.executions_in_flight is not None]


def free_ended(tenants: Sequence[UUID]) -> int:
    """Free the places of these tenants whose work has ended untold; return how many.

    A worker that was lost gives none back, nor one that began the work before its tenant had a
    limit: without this they would last as long as the work might have run. Raise
    ``ConnectionFailed`` without Redis.
    """
    # The order: what has a place now is in the ledger, unless it has ended.
    taken: dict[UUID, list[bytes]] = {}
    for first in range(0, len(tenants), _ASKED_AT_ONCE):
        asked_of = tenants[first : first + _ASKED_AT_ONCE]
        asked = client().pipeline(transaction=False)
        for tenant in asked_of:
            asked.zrange(f"{FLYING_PREFIX}{tenant}", 0, -1)
        answers = cast(list[list[bytes]], asked.execute())
        taken |= {tenant: found for tenant, found in zip(asked_of, answers, strict=True) if found}
    if not taken:
        return 0
    under_way = rows("dispatch/under_way_of_tenants", {"tenants": list(taken)})
    leased = {str(row[1]).encode() for row in under_way}
    freed = 0
    for tenant, tokens in taken.items():
        ended = [token for token in tokens if token not in leased]
        for start in range(0, len(ended), _FREED_AT_ONCE):
            part = ended[start : start + _FREED_AT_ONCE]
            freed += client().zrem(f"{FLYING_PREFIX}{tenant}", *part)
    return freed


def note_places(incarnation: str) -> None:
    """Note in a Redis that has lost them the places of work under way, once for an incarnation.

    Call it before any work is sent under that incarnation: then no tenant runs more than its limit
    beside what the workers still run. Raise ``ConnectionFailed`` without Redis.
    """
    limited = _with_places(known.limits_of_executions())
    if not limited or client().get(_NOTED_KEY) == incarnation.encode():
        return
    under_way: dict[UUID, list[str | int]] = {}
    for tenant, token, seconds in rows("dispatch/under_way_of_tenants", {"tenants": limited}):
        under_way.setdefault(tenant, []).extend((token, int(seconds * 1000)))
    for tenant, tokens in under_way.items():
        client().eval(lua("note_places"), 1, f"{FLYING_PREFIX}{tenant}", *tokens)
    client().set(_NOTED_KEY, incarnation)
    if under_way:
        log.info("places.noted", extra={"count": len(under_way)})
