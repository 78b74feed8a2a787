"""Stage 5: take back work that was handed out and never started, or started and went silent.

Each scheduler runs it for its partitions, every second while work is queued or runs. It voids
released work at the start guard before it takes it back; work that the guard reports as started
becomes RUNNING. When a pool loses a worker, it takes back all work queued for the pool, because no
row shows which worker had which work. It takes back running work of a lost worker only after the
recorder has read the outcome stream past the moment the loss was seen: an outcome there wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from executions import transitions
from executions.choices import Status
from executions.ledger import final_log, totals
from executions.ledger.final_log import Rescued
from executions.loop import looks
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.loop.lower_bounds import LowerBounds
from executions.ownership.partitions import Partitions
from executions.rescue import expiry, losses
from executions.rescue.lost_workers import Silence
from shared.exceptions import Unavailable
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from wire import start_guard

_BATCH = 1000
#: Seconds until the next look: while workers have work, and while they have none.
_LOOK_SECONDS, _RESTING_SECONDS = 1.0, 3.0


@dataclass(slots=True)
class Rescuer:
    """Takes lost work back for one scheduler."""

    partitions: Partitions
    silence: Silence = field(default_factory=Silence)
    bounds: LowerBounds = field(default_factory=LowerBounds)
    #: The first due time of work that was taken back unstarted.
    _first: datetime | None = None

    def run_once(self) -> Counts:
        """Take back one batch of each kind; return the number of executions."""
        try:
            # Listen also without partitions, to know the silent workers at a takeover.
            self.silence.listen()
            if not self.partitions.held:
                return Counts(next_in=_LOOK_SECONDS)
            held = list(self.partitions.held)
            first = looks.first_lease(held, self.bounds)
            if first is None:
                self.partitions.inherited, self.partitions.unsent = {}, None
                self.silence.lost(frozenset())
                return Counts(next_in=_RESTING_SECONDS)
            bounds, self._first = {"partitions": held, "first": first}, None
            done = self._rescue_queued(bounds) + self._rescue_running(bounds)
            done += expiry.expire(bounds, _BATCH)
        except (*ConnectionFailed, Unavailable):
            self.silence.interrupted()
            raise
        next_in = 0.0 if done >= _BATCH else _LOOK_SECONDS
        return Counts(done=done, next_in=next_in, first=self._first)

    def _rescue_queued(self, bounds: dict[str, Any]) -> int:
        lost, inherited = self.silence.lost_ago(), self.partitions.inherited
        incarnation, settled = self.silence.incarnation()
        unsent_since, unsent_until = self.partitions.unsent or (None, None)
        parameters = {
            **bounds,
            "incarnation": incarnation,
            "settled": settled,
            "pools": list(lost),
            "lost_ago": list(lost.values()),
            "inherited": list(inherited),
            "since": list(inherited.values()),
            "unsent_since": unsent_since,
            "unsent_until": unsent_until,
            "limit": _BATCH,
        }
        found = rows("rescue/expired_queued", parameters)
        if not found:
            self.partitions.inherited, self.partitions.unsent = {}, None
            return 0
        holders = start_guard.void([row[1] for row in found])
        now = database_now()
        with transaction.atomic():
            # Rows that others change now are found again in a second: waiting risks a deadlock.
            ids = [row[0] for row in found]
            free = {row[0] for row in rows("rescue/lock_free", {**bounds, "ids": ids})}
            pairs = [(row, by) for row, by in zip(found, holders, strict=True) if row[0] in free]
            moved = transitions.withdraw([(row[0], row[1]) for row, by in pairs if not by])
            totals.add({totals.EXPIRED_EXECUTIONS: len(moved)})
            back = set(moved)
            final_log.note_rescued([_unstarted(row) for row, _ in pairs if row[0] in back])
            self.partitions.judge_again((row[2], row[3]) for row, by in pairs if not by)
            self._first = min((row[3] for row, by in pairs if not by), default=None)
            transitions.mark_running([(row[0], row[1], by, now) for row, by in pairs if by])
        if len(pairs) == len(found) < _BATCH:
            # Not before: the next look handles a failure or a locked row.
            self.partitions.inherited, self.partitions.unsent = {}, None
        return len(moved)

    def _rescue_running(self, bounds: dict[str, Any]) -> int:
        named = {row[0] for row in rows("rescue/running_workers", bounds)}
        lost_workers = self.silence.lost(named - {""})
        if not named:
            return 0
        parameters = {
            **bounds,
            "lost_workers": lost_workers,
            "expired_before": self.silence.recorded_until(),
            "limit": _BATCH,
        }
        with transaction.atomic():
            found = rows("rescue/lost_running", parameters)
            now = database_now()
            ends = [losses.end_of(row, now) for row in found]
            moved = set(transitions.finish(ends))
            totals.add({totals.EXPIRED_EXECUTIONS: len(moved)})
            final_log.note_rescued(
                [
                    losses.rescued(row, end)
                    for row, end in zip(found, ends, strict=True)
                    if row[0] in moved and end.status == Status.RETRYING
                ]
            )
            return len(moved)


def _unstarted(row: tuple[Any, ...]) -> Rescued:
    """Return the facts of work that no worker began, a row of ``rescue/expired_queued``."""
    execution, tenant, task, attempt, trace = row[0], *row[4:8]
    return Rescued(execution, tenant, task, attempt, trace, "never_started", "")
