"""Which tenant may take one of the last free slots of a process.

Work that runs is never interrupted, so the order of what waits does not help a tenant while another
one holds every slot with long work. Some slots are kept for that: of these a tenant takes as many
as it leaves free, so that several tenants with long work leave a slot, too. The worker's slots,
slots for which callers wait (:mod:`shared.fair_slots`), and the bytes of a worker's hold are shared
so.
"""

from __future__ import annotations

import math

#: One slot in this many is kept for other tenants, up to a number that serves hundreds of quick
#: calls a second; ``bench.worker_shares`` simulates other choices.
_KEPT_OF, _KEPT_AT_MOST = 8, 32
#: How long a tenant counts after its last start: longer than the time between hourly runs.
ALONE_AFTER_SECONDS = 7200.0


def kept_of(slots: int) -> int:
    """Return how many slots of a process are kept where several tenants have work."""
    return min(slots // _KEPT_OF, _KEPT_AT_MOST)


class SlotShares:
    """How many slots each tenant has taken, and who may take one of the last ``kept``.

    Where no other tenant has started anything for ``alone_after_seconds``, a tenant may take all.
    """

    __slots__ = ("_alone_after", "_last", "_last_at", "_others_at", "_taken", "kept")

    def __init__(self, kept: int, alone_after_seconds: float = ALONE_AFTER_SECONDS) -> None:
        self.kept = kept
        self._alone_after = alone_after_seconds
        self._taken: dict[str, int] = {}
        #: The tenant that started last, and when; and when any other did. That is all that counts.
        self._last = ""
        self._last_at = self._others_at = -math.inf

    def taken(self, tenant: str) -> int:
        """Return how many slots the tenant has."""
        return self._taken.get(tenant, 0)

    def may_take(self, tenant: str, free: int, now: float) -> bool:
        """Return whether the tenant may take one of ``free`` slots; at least one is free."""
        if free > self.kept or self._taken.get(tenant, 0) < free:
            return True
        others_at = self._others_at if tenant == self._last else self._last_at
        return now - others_at > self._alone_after

    def take(self, tenant: str, now: float, count: int = 1) -> None:
        """Note that a tenant takes slots."""
        self._taken[tenant] = self._taken.get(tenant, 0) + count
        if tenant != self._last:
            self._last, self._others_at = tenant, self._last_at
        self._last_at = now

    def give_back(self, tenant: str, count: int = 1) -> None:
        """Note that a tenant gives slots back."""
        left = self._taken.get(tenant, 0) - count
        if left > 0:
            self._taken[tenant] = left
        else:
            self._taken.pop(tenant, None)
