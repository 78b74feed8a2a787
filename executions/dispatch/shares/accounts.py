"""What each tenant of a scarce pool has received, and what its weight alone would have given it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from executions.dispatch.shares.flows import Flow
from executions.dispatch.shares.levels import due_shares
from shared.sql import run

_MINUTE = 60.0
#: Tenants of a pool that one minute has rows of: the ones that have waited longest.
MOST = 1000


@dataclass(slots=True)
class _Sums:
    due: float = 0.0
    received: int = 0
    wait: float = 0.0


@dataclass(slots=True)
class Period:
    """The claims of a pool from one look to the next."""

    received: Counter[UUID] = field(default_factory=Counter)
    #: Tenants of which everything was taken: they could not have received more.
    drained: set[UUID] = field(default_factory=set)


class Accounts:
    """Adds up the periods of one scheduler; keeps a row for each minute, pool and tenant."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, UUID], _Sums] = {}
        self._began: float | None = None

    def add(
        self, pool: str, period: Period, waiting: Mapping[UUID, Flow], weights: Mapping[UUID, int]
    ) -> None:
        """Add a period in which the tenants ``waiting`` had due work at its begin.

        ``weights`` has the weights that are not 1.
        """
        tenants = {tenant for tenant, flow in waiting.items() if flow.wait is not None}
        tenants |= period.received.keys()
        if not tenants:
            return
        if self._began is None:
            self._began = time.monotonic()
        due = due_shares(
            {tenant: weights.get(tenant, 1) for tenant in tenants},
            {tenant: period.received[tenant] for tenant in period.drained & tenants},
            period.received.total(),
        )
        for tenant in tenants:
            sums = self._sums.setdefault((pool, tenant), _Sums())
            sums.due += due[tenant]
            sums.received += period.received[tenant]
            flow = waiting.get(tenant)
            sums.wait = max(sums.wait, (flow.wait or 0.0) if flow else 0.0)

    def keep(self) -> None:
        """Write the rows, once a minute; nothing without any."""
        if self._began is None or time.monotonic() - self._began < _MINUTE:
            return
        sums, age = self._sums, time.monotonic() - self._began
        self._sums, self._began = {}, None
        kept = [key for pool in {pool for pool, _ in sums} for key in _longest(pool, sums)]
        with transaction.atomic():
            run(
                "shares/add_minute",
                {
                    "age": age,
                    "pools": [pool for pool, _ in kept],
                    "tenants": [tenant for _, tenant in kept],
                    "due": [sums[key].due for key in kept],
                    "received": [sums[key].received for key in kept],
                    "waits": [sums[key].wait for key in kept],
                },
            )


def _longest(pool: str, sums: Mapping[tuple[str, UUID], _Sums]) -> Iterable[tuple[str, UUID]]:
    found = [key for key in sums if key[0] == pool]
    return sorted(found, key=lambda key: -sums[key].wait)[:MOST]
