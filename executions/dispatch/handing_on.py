"""Hand the next step of a run to the workers in the place that a step has just left.

Dispatch would find it a wake-up, two statements and a commit later. Recorders do it, which know
that a step has ended, and only while no due work waits for the capacity of the pool: then nothing
is overtaken, and the pool has as much work in hand as before. Everything else is left to dispatch.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DatabaseError, transaction

from executions import transitions
from executions.dispatch import scarcity
from executions.dispatch.sending import Publish, Secrets, Sending
from executions.dispatch.worker_capacity import capacity_by_pool
from executions.loop.clocks import ClockOffset
from shared.exceptions import Unavailable
from shared.notify import wake_stage_on_commit
from shared.redis_client import ConnectionFailed
from shared.sql import Asked
from tenants.data_keys import KeysOfMessages
from wire import start_guard
from wire.messages import Claimed
from wire.priorities import BAND_NAMES, band_of

log = logging.getLogger("executions.engine.handing_on")

#: How long a recorder relies on what heartbeats said: as a rule, half of the time between two of a
#: worker. What is handed on behind the last worker returns when its lease ends, as dispatched work.
_KEPT_SECONDS = 1.0


class Chance(NamedTuple):
    """That work of these pools may be handed on now, under this incarnation of Redis."""

    pools: frozenset[str]
    incarnation: str
    offset: float


@dataclass(slots=True)
class HandingOn:
    """Claims and publishes single executions for one recorder; see :class:`Sending`."""

    publish: Publish
    signing_secrets: Secrets
    offset: ClockOffset = field(default_factory=ClockOffset)
    #: Those of the last messages: reading them for each step would cost it a millisecond.
    keys: KeysOfMessages = field(default_factory=KeysOfMessages)
    #: Pools with workers that take work, and when they were read.
    _pools: tuple[str, ...] = ()
    _read_at: float = float("-inf")

    def chance(self) -> Chance | None:
        """Return where work may be handed on; None where no pool, or Redis, would take any."""
        try:
            pools = scarcity.without(self._with_workers())
            if not pools:
                return None
            return Chance(pools, start_guard.current_incarnation(), self.offset.at_most())
        except ConnectionFailed:
            return None

    def _with_workers(self) -> tuple[str, ...]:
        """Return the pools that had such workers a moment ago; only what was found is kept."""
        if not self._pools or time.monotonic() - self._read_at > _KEPT_SECONDS:
            self._pools, self._read_at = tuple(capacity_by_pool()), time.monotonic()
        return self._pools

    def claiming(self, pools: Collection[UUID], chance: Chance) -> Asked:
        """Return the statement that claims executions which its transaction has made.

        It leaves out those that are on hold, whose destination has a limit or parked work, or whose
        partition has no scheduler.
        """
        return transitions.marking_queued_at_once(pools, chance.incarnation)

    def take(
        self, rows: Sequence[tuple[Any, ...]], pools: Mapping[UUID, str], chance: Chance
    ) -> set[UUID]:
        """Publish what :meth:`claiming` has claimed after the commit; return these executions.

        ``pools`` are theirs.
        """
        claimed = [Claimed._make(row) for row in rows]
        queues: dict[str, list[Claimed]] = defaultdict(list)
        for row in claimed:
            queues[f"{pools[row.id]}.{BAND_NAMES[band_of(row.priority)]}"].append(row)
        for queue, batch in queues.items():
            transaction.on_commit(partial(self._send, queue, batch, chance))
        return {row.id for row in claimed}

    def _send(self, queue: str, batch: list[Claimed], chance: Chance) -> None:
        """Publish; what is left of the batch after any error is taken back.

        It raises nothing: the transaction has been committed, and other hooks follow. What cannot
        be taken back returns when its lease ends, as after the death of this process.
        """
        sending = Sending(self.publish, self.signing_secrets, batch, self.keys)
        try:
            sending.send(queue, chance.incarnation, chance.offset)
            return
        except ConnectionFailed:
            log.warning("dispatch.not_sent", extra={"count": len(sending.owed)})
        except Exception:
            log.exception("dispatch.crashed", extra={"count": len(sending.owed)})
        try:
            sending.take_back()
            wake_stage_on_commit("dispatch")
        except (Unavailable, DatabaseError):
            log.warning("dispatch.not_taken_back", extra={"count": len(sending.owed)})
