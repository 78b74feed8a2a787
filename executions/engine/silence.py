"""Which workers are lost: silent, and their last words recorded.

Rescue asks every second. Silence counts only while Redis answers, since nobody can beat without
it, and an outcome that is already in the stream wins over the loss of its worker.
"""

from __future__ import annotations

import time
from collections.abc import Set
from datetime import UTC, datetime

from executions.engine import stream
from executions.engine.clocks import database_now
from executions.workers.registry import workers
from shared.conf import conf

#: Older losses have been dealt with; none of their work is queued any more.
_LATELY_SECONDS = 60.0


class Silence:
    """What one scheduler has heard of the workers, and what it is still waiting for."""

    def __init__(self) -> None:
        self._answering_since: float | None = None
        self._missing: dict[str, tuple[float, stream.Position]] = {}
        self._barrier: tuple[stream.Position, datetime] | None = None
        self._recorded_at = datetime(1970, 1, 1, tzinfo=UTC)

    def interrupted(self) -> None:
        """Forget how long Redis has been answering: it has just failed to."""
        self._answering_since = None

    def lost_ago(self) -> dict[str, float]:
        """Return each pool that has just lost a worker, and how many seconds ago the last one.

        What was queued for the pool before then may be with it, and nothing says so: a row names
        its worker when it starts.
        """
        patience = conf().worker_lost_seconds
        ago: dict[str, float] = {}
        for worker in workers():
            since = worker.silent_seconds - patience
            if not worker.live and since < _LATELY_SECONDS:
                ago[worker.pool] = min(since, ago.get(worker.pool, since))
        return ago if self._answering(time.monotonic()) else {}

    def lost(self, named: Set[str]) -> list[str]:
        """Return those of the named workers that are gone and whose last words are recorded."""
        known = {worker.id: worker for worker in workers()}
        now = time.monotonic()
        patience = conf().worker_lost_seconds
        answering = self._answering(now)
        lost = []
        for name in named:
            worker = known.get(name)
            if worker and worker.live:
                self._missing.pop(name, None)
                continue
            since, barrier = self._missing.setdefault(name, (now, stream.end()))
            # A worker that Redis does not know at all (a flushed Redis), or one that had no
            # Redis to beat in for a while, may be alive and beat again in a moment.
            if not (worker and answering) and now - since < patience:
                continue
            if stream.recorded(barrier):
                lost.append(name)
        for gone in self._missing.keys() - named:
            del self._missing[gone]
        return lost

    def _answering(self, now: float) -> bool:
        """Whether Redis has been answering for so long that silence means something."""
        if self._answering_since is None:
            self._answering_since = now
        return now - self._answering_since >= conf().worker_lost_seconds

    def recorded_until(self) -> datetime:
        """Return a moment before which every outcome that reached the stream is recorded.

        While recorders are behind, an expired lease proves nothing: its outcome may wait.
        """
        if self._barrier is None:
            now = database_now()  # before the question: what arrives in between is covered
            self._barrier = (stream.end(), now)
        if stream.recorded(self._barrier[0]):
            self._recorded_at = self._barrier[1]
            self._barrier = None
        return self._recorded_at
