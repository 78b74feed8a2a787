"""What was lost and taken over: partitions of schedulers, work of workers; for operators.

Everything is read from what is kept anyway, within bounds: stretches without a scheduler (as long
as the ledger's days), what spends error budgets, and the heartbeats of a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from executions.loop.clocks import database_now
from insight.statistics import fleet
from shared import tenant_scope
from shared.conf import conf
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from shared.tenant_scope import Purpose

#: Takeovers and counts that are shown at most.
MOST = 20
#: The window of lost work: heartbeats of lost workers are kept as long.
WINDOW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Takeover:
    """Partitions that one scheduler took at one moment, after they had none.

    ``lost_by`` is the scheduler that had them, empty where it released them in good order, or in
    rows of older versions, as is ``taken_by``. ``unowned_seconds`` is an upper bound where it did
    not: it may have died any time after its last heartbeat.
    """

    at: datetime
    lost_by: str
    taken_by: str
    partitions: int
    unowned_seconds: float


@dataclass(frozen=True, slots=True)
class LostAttempts:
    """Attempts that were lost with a worker in a minute, or in an hour that is added up."""

    at: datetime
    by_hour: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A worker that fell silent without stopping in order."""

    id: str
    pool: str
    heard_at: datetime


@dataclass(frozen=True, slots=True)
class Losses:
    """The last takeovers, and the work and workers lost since ``since``.

    ``workers`` is None while Redis cannot be asked. Work that was handed out and never started is
    in no count here: it costs no attempt. ``punctual_lease_expiries_total`` of the metrics has it.
    """

    takeovers: Sequence[Takeover]
    attempts: Sequence[LostAttempts]
    workers: Sequence[LostWorker] | None
    since: datetime

    @property
    def attempt_count(self) -> int:
        """Return how many attempts were lost."""
        return sum(one.attempts for one in self.attempts)


def read() -> Losses:
    """Return what was taken over and lost lately."""
    now = database_now()
    since = now - WINDOW
    return Losses(_takeovers(), _attempts(since), _workers(now), since)


def _takeovers() -> list[Takeover]:
    # A takeover has at most one stretch for each partition.
    asked = {"stretches": MOST * conf().partition_count, "most": MOST}
    return [
        Takeover(at, lost_by, taken_by, partitions, (at - since).total_seconds())
        for at, lost_by, taken_by, partitions, since in rows("installation_reads/takeovers", asked)
    ]


def _attempts(since: datetime) -> list[LostAttempts]:
    with tenant_scope.across(Purpose.LOSSES):
        found = rows("installation_reads/lost_attempts", {"since": since, "most": MOST})
    return [LostAttempts(*row) for row in found]


def _workers(now: datetime) -> list[LostWorker] | None:
    try:
        known = fleet.workers()
    except ConnectionFailed:
        return None
    lost = sorted((one for one in known if one.state == "lost"), key=lambda one: one.silent_seconds)
    return [
        LostWorker(one.id, one.pool, now - timedelta(seconds=one.silent_seconds))
        for one in lost[:MOST]
    ]
