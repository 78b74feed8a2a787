"""Whether due work may wait for the capacity of a pool; schedulers note it, others ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from shared.redis_client import SCARCE_PREFIX, client

#: How long a note holds, in milliseconds: longer than a scheduler waits between two looks at a pool
#: without capacity.
_HOLDS_MS = 3000


def note(pools: Iterable[str], scheduler: str = "1") -> None:
    """Note that due work may wait for the capacity of these pools, as a scheduler has found."""
    for pool in pools:
        client().set(SCARCE_PREFIX + pool, scheduler, px=_HOLDS_MS)


def without(pools: Iterable[str]) -> frozenset[str]:
    """Return those of the pools for which no due work is known to wait."""
    asked = list(pools)
    noted = _noted(asked)
    return frozenset(pool for pool, found in zip(asked, noted, strict=True) if found is None)


def noted_by_others(pools: Iterable[str], scheduler: str) -> frozenset[str]:
    """Return those of the pools whose last note is another scheduler's."""
    asked, own = list(pools), scheduler.encode()
    found = zip(asked, _noted(asked), strict=True)
    return frozenset(pool for pool, by in found if by is not None and by != own)


def _noted(pools: Sequence[str]) -> list[bytes | None]:
    if not pools:
        return []
    return cast(list[bytes | None], client().mget([SCARCE_PREFIX + pool for pool in pools]))
