"""Stage 2: work soon due goes to the workers, ahead of its time, under a token and a lease.

Run by the scheduler for its partitions. Only as much is claimed as live workers can hold or
start; the rest waits in the database, where cancel, pause and priority take effect at once (B5).
A message that is lost is repaired by rescue when its lease ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from executions.choices import BAND_NAMES
from executions.engine import guard, ledger, messages, transitions
from executions.engine.bands import Bands
from executions.engine.clocks import ClockOffset, database_now
from executions.engine.counts import Counts
from executions.engine.partitions import Partitions
from executions.engine.transitions import Claimed
from executions.workers.capacity import capacity_by_pool
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.redis_client import ConnectionFailed
from shared.sql import rows

log = logging.getLogger(__name__)

#: Work this much nearer than the release window is gathered into one claim.
_GATHER_SECONDS = 0.25
#: How long until the next look for a worker when none can take work.
_NO_ROOM_SECONDS = 1.0

Publish = Callable[[str, dict[str, Any]], None]
Secrets = Callable[[Sequence[UUID]], dict[UUID, list[bytes]]]


@dataclass(slots=True)
class Dispatcher:
    """Claims and publishes for one scheduler.

    ``publish(queue, message)`` hands a message to the broker; ``signing_secrets(tenants)``
    answers each tenant's active secrets, sealed.
    """

    partitions: Partitions
    publish: Publish
    signing_secrets: Secrets
    offset: ClockOffset = field(default_factory=ClockOffset)
    bands: Bands = field(default_factory=Bands)

    def run_once(self) -> Counts:
        """Claim one batch per pool and publish it; claimed is published or handed back."""
        if not self.partitions.ready:
            return Counts()
        # Whatever may fail for want of Redis is asked before anything is claimed.
        incarnation = guard.current_incarnation()
        offset = self.offset.seconds()
        low, high = ledger.floor_id(), ledger.high_id(database_now())
        rooms = self._room(low, high)
        claimed = 0
        more = False
        for pool, room in rooms.items():
            wanted = min(room, conf().dispatch_batch)
            batch, left = self._claim(
                wanted, {"pool": pool, "low": low, "high": high, "incarnation": incarnation}
            )
            self._publish_batch(pool, batch, incarnation, offset)
            claimed += len(batch)
            more = more or (left and room > len(batch))
        if more:
            return Counts(done=claimed, next_in=0.0)
        return Counts(done=claimed, next_in=self._until_next(low, high, any(rooms.values())))

    def _room(self, low: UUID, high: UUID) -> dict[str, int]:
        capacity = capacity_by_pool()
        if not capacity:
            return {}
        flying = dict(rows("dispatch/in_flight", {"low": low, "high": high}))
        return {pool: max(0, room - flying.get(pool, 0)) for pool, room in capacity.items()}

    def _claim(self, wanted: int, parameters: dict[str, Any]) -> tuple[list[Claimed], bool]:
        """Claim by bands, urgent first, less what is kept for lower ones; then what that left.

        Return what was claimed, and whether a band may have more.
        """
        taken: list[Claimed] = []
        kept = self.bands.kept(parameters["pool"], wanted)
        waiting = []
        for band in range(len(BAND_NAMES)):
            limit = wanted - len(taken) - sum(kept[band + 1 :])
            if self._claim_band(taken, band, limit, parameters):
                waiting.append(band)
        for band in list(waiting):
            if not self._claim_band(taken, band, wanted - len(taken), parameters):
                waiting.remove(band)
        return taken, bool(waiting)

    def _claim_band(
        self, taken: list[Claimed], band: int, limit: int, parameters: dict[str, Any]
    ) -> bool:
        """Add up to so many of a band; return whether it may have more."""
        if limit <= 0:
            return True
        with transaction.atomic():
            found = transitions.mark_queued(
                {
                    **parameters,
                    "band": band,
                    "window": conf().release_seconds,
                    "margin": conf().start_margin_seconds,
                    "partitions": self.partitions.ready,
                    "limit": limit,
                }
            )
        taken += found
        return len(found) == limit

    def _publish_batch(
        self, pool: str, batch: Sequence[Claimed], incarnation: str, offset: float
    ) -> None:
        if not batch:
            return
        unpublished = list(batch)
        try:
            secrets = self.signing_secrets(sorted({row.tenant_id for row in batch}))
            for band, name in enumerate(BAND_NAMES):
                for part in messages.split([row for row in batch if row.band == band]):
                    self.publish(
                        f"{pool}.{name}", messages.message(part, incarnation, secrets, offset)
                    )
                    published = {row.token for row in part}
                    unpublished = [row for row in unpublished if row.token not in published]
        except ConnectionFailed:
            log.warning("publish_failed", extra={"count": len(unpublished)})
        finally:
            self._take_back(unpublished)

    def _take_back(self, unpublished: Sequence[Claimed]) -> None:
        """Return unpublished work at once; if Redis cannot even void it, the lease does."""
        if not unpublished:
            return
        try:
            holders = guard.void([row.token for row in unpublished])
        except Unavailable:
            return
        pairs = zip(unpublished, holders, strict=True)
        with transaction.atomic():
            transitions.withdraw([(row.id, row.token) for row, by in pairs if not by])

    def _until_next(self, low: UUID, high: UUID, room: bool) -> float:
        sleep = conf().scheduler_sleep_seconds
        found = rows(
            "dispatch/next_due", {"low": low, "high": high, "partitions": self.partitions.ready}
        )
        soonest, now = found[0]
        if soonest is None:
            return sleep
        wait: float = (soonest - now).total_seconds() - conf().release_seconds + _GATHER_SECONDS
        return min(sleep, max(_GATHER_SECONDS if room else _NO_ROOM_SECONDS, wait))
