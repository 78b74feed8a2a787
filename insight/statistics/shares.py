"""What tenants received of scarce pools, beside what their weights made due.

Dispatch writes minutes while a pool is scarce; without such minutes each execution went to a worker
at its due time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from executions.loop.clocks import database_now
from shared.sql import rows

#: Minutes that are shown unless told otherwise, and at most: as many as a day has.
MINUTES, MOST_MINUTES = 60, 1440
#: Tenants and pools of one answer for operators.
MOST_SUMS = 1000


@dataclass(frozen=True, slots=True)
class Minute:
    """The share of a tenant in a pool within a minute; ``oldest_wait`` is in seconds."""

    minute: datetime
    due: float
    received: int
    oldest_wait: float


@dataclass(slots=True)
class Share:
    """The sums of a tenant's minutes in a pool, and the minutes where they were asked for."""

    tenant_id: UUID
    pool: str
    due: float = 0.0
    received: int = 0
    oldest_wait: float = 0.0
    scarce_minutes: int = 0
    minutes: list[Minute] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """What was received by what was due; None where nothing was due."""
        return self.received / self.due if self.due else None


def shares_of(tenant_id: UUID, minutes: int = MINUTES) -> list[Share]:
    """Return the tenant's share of each pool that was scarce within the last minutes."""
    found: dict[str, Share] = {}
    asked = {"tenants": [tenant_id], "since": _since(minutes)}
    for _, pool, *figures in rows("share_reads/minutes_of", asked):
        share = found.setdefault(pool, Share(tenant_id, pool))
        minute = Minute(*figures)
        share.minutes.append(minute)
        share.due += minute.due
        share.received += minute.received
        share.oldest_wait = max(share.oldest_wait, minute.oldest_wait)
        share.scarce_minutes += 1
    return list(found.values())


def sums_of_tenants(minutes: int = MINUTES, tenant_id: UUID | None = None) -> Sequence[Share]:
    """Return the sums of every tenant, or of one, by pool; the longest waits first."""
    asked = {"since": _since(minutes), "tenant": tenant_id, "limit": MOST_SUMS}
    return [Share(*row) for row in rows("share_reads/sums_since", asked)]


def _since(minutes: int) -> datetime:
    return database_now() - timedelta(minutes=minutes)
