"""The pools that a tenant's targets may name: the pools of its pull workers.

Their rows belong to ``executions``; here only the names are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from uuid import UUID

from shared.sql import rows


def pools_of(tenant_id: UUID) -> Callable[[], frozenset[str]]:
    """Return the function that reads the names of the tenant's pools, once."""

    @lru_cache(maxsize=1)
    def read() -> frozenset[str]:
        return frozenset(name for (name,) in rows("pool_names/of_tenant", {"tenant": tenant_id}))

    return read
