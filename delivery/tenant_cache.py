"""Values that are kept for tenants, bounded in number: no tenant pushes out those of others.

Used for access tokens and TLS contexts. When there are too many, the tenant that has most of them
loses the one that it used longest ago.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TenantCache(Generic[K, V]):
    """At most ``limit`` values, by tenant and key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[str, OrderedDict[K, V]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, tenant: str, key: K) -> V | None:
        """Return what is kept, None where nothing is."""
        mine = self._kept.get(tenant)
        found = None if mine is None else mine.get(key)
        if mine is not None and found is not None:
            mine.move_to_end(key)
        return found

    def keep(self, tenant: str, key: K, value: V) -> None:
        """Keep a value in place of the one before."""
        self.forget(tenant, key)
        self._kept.setdefault(tenant, OrderedDict())[key] = value
        self._count += 1
        if self._count > self._limit:
            largest = max(self._kept, key=lambda one: len(self._kept[one]))
            self.forget(largest, next(iter(self._kept[largest])))

    def values(self) -> Iterator[V]:
        """Yield what is kept, of all tenants; this uses none of it."""
        for mine in self._kept.values():
            yield from mine.values()

    def forget(self, tenant: str, key: K) -> None:
        """Keep nothing there any more."""
        mine = self._kept.get(tenant)
        if mine is None or key not in mine:
            return
        del mine[key]
        self._count -= 1
        if not mine:
            del self._kept[tenant]
