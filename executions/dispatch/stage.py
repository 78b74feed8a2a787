"""Stage 2: hand work that is soon due to the workers, under a token and a lease.

The scheduler runs it for its partitions; of a pool whose capacity is scarce, for all partitions
that are ready, by the shares of the tenants. It claims only as much as live workers can buffer or
start, and of one destination as much as its capacity. The rest waits in the database, where cancel,
pause and priority take effect at once. Rescue repairs a lost message when its lease ends.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

from django.db import transaction

from executions import transitions
from executions.dispatch.band_shares import Bands, Heads, priorities_of
from executions.dispatch.destination_capacity import Pass, Rooms
from executions.dispatch.sending import Publish, Secrets, Sending
from executions.dispatch.shares.by_shares import ByShares, Claim, Given, ahead
from executions.dispatch.tenant_limits import note_places
from executions.dispatch.worker_capacity import Capacity, capacity_by_pool
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
#: The same while a tenant has as much at the workers as its limits allow.
_LIMITED_SECONDS = 0.1


class _Way(NamedTuple):
    """The incarnation of Redis that a pass sends to, and Redis time minus database time."""

    incarnation: str
    offset: float


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
    rooms: Rooms = field(init=False)
    shares: ByShares = field(init=False)
    _room_in: float = _ROOM_SECONDS
    sending: Sending = field(init=False)

    def __post_init__(self, publish: Publish, signing_secrets: Secrets) -> None:
        self.shares = ByShares(str(self.partitions.node))
        self.rooms = Rooms(self.shares.paces)
        self.sending = Sending(publish, signing_secrets)

    def run_once(self) -> Counts:
        """Claim one batch per pool and publish it; take unpublished work back."""
        with self.partitions.using_redis(self.probe):
            return self._hand_out()

    def _hand_out(self) -> Counts:
        # Calls that fail without Redis come before any claim, also without any partition.
        incarnation = start_guard.current_incarnation()
        note_places(incarnation)
        self._take_back()
        if not self.partitions.ready:
            return Counts()
        capacity = capacity_by_pool()
        shared = self.shares.pools(capacity)
        offset = self.offset.at_most()
        look = self.rooms.look(capacity, self.partitions.ready, shared)
        way = _Way(incarnation, offset)
        passed = [
            self._of_shares(pool, capacity[pool], look, way)
            if pool in shared
            else self._of_ample(pool, capacity[pool], look, way)
            for pool in look.pools
        ]
        self.shares.publish()
        claimed = sum(one.claimed for one in passed)
        if any(one.more for one in passed):
            return Counts(done=claimed, next_in=0.0)
        scarce = [one for one in passed if one.waits]
        flows = any(one.claimed for one in scarce)
        self._room_in = _ROOM_SECONDS if flows else min(_NO_ROOM_SECONDS, 2 * self._room_in)
        wait = self._until_next(look)
        if any(look.left.get(pool, 0) > 0 for pool in shared):
            # Beside a tenant that waits for its limit others have capacity: theirs is not late.
            wait = min(wait, max(_ROOM_SECONDS, ahead() / 2))
        return Counts(done=claimed, next_in=min(wait, self._room_in) if scarce else wait)

    def _of_ample(self, pool: str, capacity: Capacity, look: Pass, way: _Way) -> Given:
        """Claim and publish one batch of a pool that has capacity; note when that gets scarce."""
        room = look.pools[pool]
        batch, left = self._by_bands(pool, min(room, conf().dispatch_batch), look, way)
        over = room - len(batch)
        # Also before all is full: the rest is kept for tenants that have none of it yet.
        scarce = left and (over <= 0 or over < capacity.hold // 2)
        scarce = scarce or look.awaits_slots(pool, capacity)
        self.shares.note(pool, scarce=scarce)
        return Given(len(batch), more=left and over > 0, waits=scarce)

    def _of_shares(self, pool: str, capacity: Capacity, look: Pass, way: _Way) -> Given:
        """Claim and publish one batch of a scarce pool; note when all that is due was claimed."""
        room = look.pools[pool]
        wanted = min(room, conf().dispatch_batch)
        alone = self.shares.most_alone(pool, look, capacity)
        if alone is None:
            claim = self._claims_by_shares(pool, look, way)
            given = self.shares.hand_out(pool, wanted, look, capacity, claim)
            given.more = given.more and room > given.claimed
        else:
            batch, left = self._by_bands(pool, min(wanted, alone), look, way)
            self.shares.note_alone(pool, batch)
            more = left and min(room, alone) > len(batch)
            given = Given(len(batch), more=more, waits=left)
        given.waits = given.waits or look.awaits_slots(pool, capacity)
        self.shares.note(pool, scarce=given.waits)
        return given

    def _by_bands(
        self, pool: str, wanted: int, look: Pass, way: _Way
    ) -> tuple[list[Claimed], bool]:
        parameters = {"pool": pool, "incarnation": way.incarnation}
        return self.bands.share_out(
            pool, wanted, self._claims(parameters, look, way.offset), look.bands
        )

    def _claims_by_shares(self, pool: str, look: Pass, way: _Way) -> Claim:
        def claim(parameters: dict[str, Any]) -> tuple[list[Claimed], int]:
            if self.sending.owed:  # Redis is away
                return [], 0
            parameters["incarnation"] = way.incarnation
            parameters["margin"] = conf().start_margin_seconds
            with transaction.atomic():
                found, parked = transitions.mark_queued(parameters, by_shares=True)
                self.sending.owed = found
            look.took(pool, found, parked)
            with self._publishing():
                self.sending.send_by_bands(pool, way.incarnation, way.offset)
            return found, parked

        return claim

    def _claims(
        self, parameters: dict[str, Any], look: Pass, offset: float
    ) -> Callable[[int, int], tuple[list[Claimed], bool]]:
        def claim(band: int, limit: int) -> tuple[list[Claimed], bool]:
            if self.sending.owed:  # Redis is away
                return [], False
            found, left = self._claim(band, limit, parameters, look)
            queue = f"{parameters['pool']}.{BAND_NAMES[band]}"
            with self._publishing():
                self.sending.send(queue, parameters["incarnation"], offset)
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
                    **self.shares.limits.parameters(),
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
        self.shares.limits.took(Counter(row.tenant_id for row in found))
        # A tenant's limit may have cut a full batch short: others follow behind it.
        limited = bool(found or parked) and self.shares.limits.bind
        return found, limited or len(found) + parked >= limit

    @contextmanager
    def _publishing(self) -> Iterator[None]:
        """Take back what the block cannot publish, or leave it owed."""
        try:
            yield
        except ConnectionFailed:
            self.partitions.note_redis(reached=False)
            log.warning("dispatch.not_sent", extra={"count": len(self.sending.owed)})
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
        self.shares.forget()

    def _since(self) -> dict[str, object]:
        return {"since": of_moments(self.rooms.bounds.since)}

    def _until_next(self, look: Pass) -> float:
        bounds = self.rooms.bounds
        sleep = min(
            conf().scheduler_sleep_seconds, look.next_in, max(_ROOM_SECONDS, bounds.next_in)
        )
        if self.shares.limits.reached:
            sleep = min(sleep, _LIMITED_SECONDS)
        open_pools = [pool for pool, room in look.pools.items() if room]
        if len(open_pools) < len(look.pools) or not open_pools:
            sleep = min(sleep, _NO_ROOM_SECONDS)
        ahead = looks.next_work(open_pools, self.partitions.ready, bounds)
        if ahead is None:
            return sleep
        return min(sleep, max(_GATHER_SECONDS, ahead - conf().release_seconds + _GATHER_SECONDS))
