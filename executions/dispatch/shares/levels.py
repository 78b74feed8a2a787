"""Divide the places of a claim among tenants, by weight and by what each has in hand already.

The level of a tenant is its leased work divided by its weight. Places raise the lowest levels
first, until all places are given: what one tenant does not need goes to the others. Knows no
database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Places that each visited tenant gets on average, at least, where many tenants wait: a visit costs
#: as much as a few rows.
ROWS_A_VISIT = 10
#: Tenants that any claim may visit, however small their share of it is.
_VISITS = 64


@dataclass(slots=True)
class Claimant:
    """A tenant with due work: its weight, its leased work, and how many more it may have.

    ``received`` is the work that it got so far, divided by its weight; it decides on single places
    between equal levels. ``most`` is None without a limit.
    """

    tenant: UUID
    weight: int
    leased: int = 0
    received: float = 0.0
    most: int | None = None

    @property
    def level(self) -> float:
        """Leased work by weight."""
        return self.leased / self.weight


def places(waiting: Iterable[Claimant], count: int) -> dict[UUID, int]:
    """Return how many of ``count`` places each tenant gets, without those that get none.

    The sum is ``count`` unless limits keep it below.
    """
    able = [one for one in waiting if one.most is None or one.most > 0]
    if not able or count <= 0:
        return {}
    if len(able) > (visits := max(_VISITS, count // ROWS_A_VISIT)):
        able.sort(key=_order)
        del able[visits:]
    given, rest, left = _limited(able, count)
    if rest and left > 0:
        given.update(_whole(rest, left))
    return {tenant: number for tenant, number in given.items() if number > 0}


def due_shares(
    weights: Mapping[UUID, int], demand: Mapping[UUID, int], count: int
) -> Mapping[UUID, float]:
    """Return the places that weight alone would give, of ``count`` places in all.

    ``demand`` is all that a tenant has due, where that is known; other tenants have no limit.
    """
    waiting = [
        Claimant(tenant, weight, most=demand.get(tenant)) for tenant, weight in weights.items()
    ]
    given, rest, left = _limited(waiting, count)
    level = _level(rest, left) if rest else 0.0
    return {**given, **{one.tenant: max(0.0, one.weight * level) for one in rest}}


def _order(one: Claimant) -> tuple[float, float]:
    return one.level, one.received


def _limited(
    waiting: Sequence[Claimant], count: int
) -> tuple[dict[UUID, int], list[Claimant], int]:
    """Give the tenants whose limit is below their share as much as that.

    Return these places, the other tenants, and the places that are left for them.
    """
    given: dict[UUID, int] = {}
    rest, left = list(waiting), count
    while rest and left > 0:
        level = _level(rest, left)
        below = [
            one
            for one in rest
            if one.most is not None and one.weight * level - one.leased >= one.most
        ]
        if not below:
            break
        given.update((one.tenant, one.most or 0) for one in below)
        left -= sum(one.most or 0 for one in below)
        rest = [one for one in rest if one.tenant not in given]
    return given, rest, max(0, left)


def _level(waiting: Sequence[Claimant], count: int) -> float:
    """Return the level to which ``count`` places raise the lowest ones."""
    weight = leased = 0
    for one in sorted(waiting, key=_order):
        if weight and weight * one.level - leased >= count:
            break
        weight += one.weight
        leased += one.leased
    return (count + leased) / weight


def _whole(waiting: Sequence[Claimant], count: int) -> dict[UUID, int]:
    """Round the places down; give the remaining ones to tenants that have received least."""
    level = _level(waiting, count)
    raised = [one for one in waiting if one.weight * level > one.leased]
    # A millionth: a product of floats may lie just below the whole number that it is.
    given = {one.tenant: int(one.weight * level - one.leased + 1e-6) for one in raised}
    over = count - sum(given.values())
    for one in sorted(raised, key=lambda one: (one.received, -one.weight))[:over]:
        given[one.tenant] += 1
    return given
