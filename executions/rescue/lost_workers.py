"""Find lost workers: silent ones whose last reports are recorded.

Rescue asks every second while workers have work. Silence counts only while Redis answers, because
no worker can beat without it, and while no clock leaps, because beats and leases would look older
than they are. An outcome that is already in the stream wins over the loss of its worker.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Set
from datetime import UTC, datetime, timedelta

from executions.loop.clocks import database_now
from executions.rescue import stream_position
from shared.conf import conf
from shared.redis_client import client
from wire import start_guard
from wire.heartbeats import workers

log = logging.getLogger("executions.engine.silence")

#: Older losses have been handled; none of their work is queued any more.
_LATELY_SECONDS = 60.0
#: After a restart or a flush of Redis, workers get this long to report their started work.
_INCARNATION_GRACE_SECONDS = 2.0


class _Clock:
    """A server's clock, watched for leaps against our own monotonic clock."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: tuple[float, float] | None = None

    def leap(self, there: float) -> float:
        """Return the seconds that it leapt forward since the last call, 0 for a small leap."""
        here = time.monotonic()
        before, self._seen = self._seen, (there, here)
        if before is None:
            return 0.0
        leap = (there - before[0]) - (here - before[1])
        if leap < conf().worker_lost_seconds / 2:
            return 0.0
        log.warning("clock.leapt", extra={"clock": self._name, "seconds": round(leap, 3)})
        return leap


class Silence:
    """One scheduler's knowledge of the workers, and the stream positions that it waits for."""

    def __init__(self) -> None:
        self._answering_since: float | None = None
        self._missing: dict[str, tuple[float, stream_position.Position]] = {}
        self._barrier: tuple[stream_position.Position, datetime] | None = None
        self._recorded_at = datetime(1970, 1, 1, tzinfo=UTC)
        self._redis_clock, self._database_clock = _Clock("redis"), _Clock("postgresql")
        self._leapt = timedelta()
        self._incarnation: tuple[str, float, stream_position.Position] = (
            "",
            0.0,
            stream_position.NOWHERE,
        )
        self._settled = False

    def listen(self) -> None:
        """Ask Redis for its time; raise its error when it cannot be asked."""
        seconds, microseconds = client().time()
        if self._redis_clock.leap(seconds + microseconds / 1e6):
            self.interrupted()
        self._answering(time.monotonic())

    def interrupted(self) -> None:
        """Forget how long Redis has been answering: it has just failed to."""
        self._answering_since = None

    def lost_ago(self) -> dict[str, float]:
        """Return each pool that has just lost a worker, and how many seconds ago the last one.

        The lost worker may have work that was queued for the pool before then. No row shows that,
        because a row names its worker only when it starts.
        """
        patience = conf().worker_lost_seconds
        ago: dict[str, float] = {}
        for worker in workers():
            since = worker.silent_seconds - patience
            if not worker.live and since < _LATELY_SECONDS:
                ago[worker.pool] = min(since, ago.get(worker.pool, since))
        return ago if self._answering(time.monotonic()) else {}

    def lost(self, named: Set[str]) -> list[str]:
        """Return the named workers that are gone and whose last reports are recorded."""
        known = {worker.id: worker for worker in workers()} if named else {}
        now = time.monotonic()
        patience = conf().worker_lost_seconds
        answering = self._answering(now)
        lost = []
        for name in named:
            worker = known.get(name)
            if worker and worker.live:
                self._missing.pop(name, None)
                continue
            since, barrier = self._missing.setdefault(name, (now, stream_position.end()))
            # A worker that Redis does not know at all (a flushed Redis), or one that had no
            # Redis to beat in for a while, may be alive and beat again in a moment.
            if not (worker and answering) and now - since < patience:
                continue
            if stream_position.recorded(barrier):
                lost.append(name)
        for gone in self._missing.keys() - named:
            del self._missing[gone]
        return lost

    def _answering(self, now: float) -> bool:
        """Return whether Redis has been answering long enough for silence to count."""
        if self._answering_since is None:
            self._answering_since = now
        return now - self._answering_since >= conf().worker_lost_seconds

    def recorded_until(self) -> datetime:
        """Return a moment before which every outcome that reached the stream is recorded.

        While recorders are behind, an expired lease proves nothing: its outcome may wait in the
        stream. Just after Redis was away it proves nothing either: the outcome may wait in its
        worker.
        """
        if not self._answering(time.monotonic()):
            return self._recorded_at
        if self._barrier is None:
            now = database_now()  # first, so that the position covers every outcome until now
            # Leases that were given before a leap run out that much later.
            self._leapt += timedelta(seconds=self._database_clock.leap(now.timestamp()))
            self._barrier = (stream_position.end(), now - self._leapt)
        if stream_position.recorded(self._barrier[0]):
            self._recorded_at = self._barrier[1]
            self._barrier = None
        return self._recorded_at

    def incarnation(self) -> tuple[str, bool]:
        """Return the incarnation, and whether all reports about the former one are recorded.

        Work sent under a former incarnation can no longer start, but may be under way. Its worker
        reports that within a moment, and the report has to be recorded.
        """
        found, now = start_guard.current_incarnation(), time.monotonic()
        if found != self._incarnation[0]:
            self._incarnation = (found, now, stream_position.NOWHERE)
            self._settled = False
        if self._settled:
            return found, True
        _, since, barrier = self._incarnation
        if now - since < _INCARNATION_GRACE_SECONDS:
            return found, False
        if barrier == stream_position.NOWHERE:
            barrier = stream_position.end()
            self._incarnation = (found, since, barrier)
        self._settled = stream_position.recorded(barrier)
        return found, self._settled
