"""Whether due work may wait for the capacity of a pool; schedulers tell, recorders ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from shared.redis_client import SCARCE_PREFIX, client

#: How long a note holds, in milliseconds: longer than a scheduler waits between two looks at a pool
#: without capacity.
_HOLDS_MS = 3000


def note(pools: Iterable[str]) -> None:
    """Note that these pools are full, and due work may wait for them."""
    for pool in pools:
        client().set(SCARCE_PREFIX + pool, 1, px=_HOLDS_MS)


def without(pools: Iterable[str]) -> frozenset[str]:
    """Return those of the pools for which no due work is known to wait."""
    asked = list(pools)
    if not asked:
        return frozenset()
    noted = cast(list[bytes | None], client().mget([SCARCE_PREFIX + pool for pool in asked]))
    return frozenset(pool for pool, found in zip(asked, noted, strict=True) if found is None)
