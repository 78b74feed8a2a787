"""Stage 2: hand work that is soon due to the workers, under a token and a lease.

The scheduler runs it for its partitions. It claims only as much as live workers can buffer or
start, and of one destination as much as its capacity. The rest waits in the database, where cancel,
pause and priority take effect at once. Rescue repairs a lost message when its lease ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

from django.db import transaction

from executions import transitions
from executions.dispatch import scarcity
from executions.dispatch.band_shares import Bands, Heads, priorities_of
from executions.dispatch.destination_capacity import Pass, Rooms
from executions.dispatch.sending import Publish, Secrets, Sending
from executions.dispatch.worker_capacity import capacity_by_pool
from executions.loop import looks
from executions.loop.clocks import ClockOffset
from executions.loop.counts import Counts
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from shared.sql_arrays import of_moments
from wire import start_guard
from wire.messages import Claimed
from wire.priorities import BAND_NAMES

log = logging.getLogger("executions.engine.dispatch")

#: One claim gathers work that is this much nearer than the release window.
_GATHER_SECONDS = 1.0
#: Seconds until the next look for capacity while work waits for it: at first, and at most. Each
#: look that finds none doubles the wait.
_ROOM_SECONDS, _NO_ROOM_SECONDS = 0.05, 1.0


@dataclass(slots=True)
class Dispatcher:
    """Claims and publishes for one scheduler; see :class:`Sending`.

    ``probe()`` raises unless ``publish`` could hand over a message.
    """

    partitions: Partitions
    publish: InitVar[Publish]
    signing_secrets: InitVar[Secrets]
    probe: Callable[[], None] = lambda: None
    offset: ClockOffset = field(default_factory=ClockOffset)
    bands: Bands = field(default_factory=Bands)
    rooms: Rooms = field(default_factory=Rooms)
    _room_in: float = _ROOM_SECONDS
    sending: Sending = field(init=False)

    def __post_init__(self, publish: Publish, signing_secrets: Secrets) -> None:
        self.sending = Sending(publish, signing_secrets)

    def run_once(self) -> Counts:
        """Claim one batch per pool and publish it; take unpublished work back."""
        with self.partitions.using_redis(self.probe):
            return self._hand_out()

    def _hand_out(self) -> Counts:
        # Calls that fail without Redis come before any claim, also without any partition.
        incarnation = start_guard.current_incarnation()
        self._take_back()
        if not self.partitions.ready:
            return Counts()
        offset = self.offset.at_most()
        look = self.rooms.look(capacity_by_pool(), self.partitions.ready)
        claimed = 0
        more = flows = False
        scarce_pools = []
        for pool, room in look.pools.items():
            wanted = min(room, conf().dispatch_batch)
            parameters = {"pool": pool, "incarnation": incarnation}
            claim = self._claims(parameters, look, offset)
            batch, left = self.bands.share_out(pool, wanted, claim, look.bands)
            claimed += len(batch)
            more = more or (left and room > len(batch))
            scarce = left and room <= len(batch)
            if scarce:
                scarce_pools.append(pool)
            flows = flows or (scarce and bool(batch))
        scarcity.note(scarce_pools)
        if more:
            return Counts(done=claimed, next_in=0.0)
        self._room_in = _ROOM_SECONDS if flows else min(_NO_ROOM_SECONDS, 2 * self._room_in)
        wait = self._until_next(look)
        return Counts(done=claimed, next_in=min(wait, self._room_in) if scarce_pools else wait)

    def _claims(
        self, parameters: dict[str, Any], look: Pass, offset: float
    ) -> Callable[[int, int], tuple[list[Claimed], bool]]:
        def claim(band: int, limit: int) -> tuple[list[Claimed], bool]:
            if self.sending.owed:  # Redis is away
                return [], False
            found, left = self._claim(band, limit, parameters, look)
            queue = f"{parameters['pool']}.{BAND_NAMES[band]}"
            self._publish(queue, parameters["incarnation"], offset)
            return found, left

        return claim

    def _claim(
        self, band: int, limit: int, parameters: dict[str, Any], look: Pass
    ) -> tuple[list[Claimed], bool]:
        """Claim up to ``limit`` of a band; return them, and whether it may have more."""
        pool, priorities = parameters["pool"], priorities_of(band, look.priorities)

        def heads() -> Heads:
            where = {"pool": pool, "partitions": self.partitions.ready}
            return [
                (row[0], row[1])
                for row in rows(
                    "dispatch/heads", {"priorities": priorities, **where, **self._since()}
                )
            ]

        with transaction.atomic():
            found, parked = transitions.mark_queued(
                {
                    **parameters,
                    **look.parameters(pool, band),
                    **self.bands.oldest(pool, limit, priorities, heads),
                    **self._since(),
                    "window": conf().release_seconds,
                    "margin": conf().start_margin_seconds,
                    "partitions": self.partitions.ready,
                    "limit": limit,
                }
            )
            self.sending.owed = found
        look.took(parameters["pool"], found, parked)
        return found, len(found) + parked >= limit

    def _publish(self, queue: str, incarnation: str, offset: float) -> None:
        """Publish claimed work; take the unpublished part back, or leave it owed."""
        try:
            self.sending.send(queue, incarnation, offset)
        except ConnectionFailed:
            self.partitions.note_redis(reached=False)
            log.warning("publish_failed", extra={"count": len(self.sending.owed)})
        finally:
            self._take_back()

    def _take_back(self) -> None:
        """Take unpublished work back; leave it owed while Redis cannot void its tokens."""
        if not self.sending.owed:
            return
        try:
            back = self.sending.take_back()
        except Unavailable:
            self.partitions.note_redis(reached=False)
            return
        self.rooms.bounds.lower(min(row.due_at for row in back))

    def _since(self) -> dict[str, object]:
        return {"since": of_moments(self.rooms.bounds.since)}

    def _until_next(self, look: Pass) -> float:
        bounds = self.rooms.bounds
        sleep = min(
            conf().scheduler_sleep_seconds, look.next_in, max(_ROOM_SECONDS, bounds.next_in)
        )
        open_pools = [pool for pool, room in look.pools.items() if room]
        if len(open_pools) < len(look.pools) or not open_pools:
            sleep = min(sleep, _NO_ROOM_SECONDS)
        ahead = looks.next_work(open_pools, self.partitions.ready, bounds)
        if ahead is None:
            return sleep
        return min(sleep, max(_GATHER_SECONDS, ahead - conf().release_seconds + _GATHER_SECONDS))
