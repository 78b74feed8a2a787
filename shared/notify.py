"""Wake-ups of schedulers by PostgreSQL notifications.

A commit wakes the schedulers only when their next regular check may be too late for its work.
Concurrent commits share one notification: one per transaction cost 40 % of the commits
(measured, docs/decisions).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import NamedTuple

import psycopg
from django.db import connection, transaction

from shared.conf import conf
from shared.sql import run, statement

#: For work that is due later than the first, schedulers wait up to the second for more work: a
#: pass costs much at any size. The wait always leaves time to hand the work out ahead.
_PATIENT_FROM_SECONDS, _PATIENCE_SECONDS = 1.0, 0.5

#: Stages that a wake-up may be for alone.
_ALONE = ("dispatch", "workflows")

_lock = threading.Lock()
_wanted: list[Wake] = []


class Wake(NamedTuple):
    """A wake-up: check ``within`` these seconds; ``first`` is the earliest instant written.

    ``first`` is None where the writer does not know it. ``stage`` is the only stage that has work,
    '' for every stage.
    """

    within: float
    first: datetime | None = None
    stage: str = ""

    def __or__(self, other: Wake) -> Wake:
        """Return a wake-up for both."""
        within = min(self.within, other.within)
        stage = self.stage if self.stage == other.stage else ""
        if self.first is None or other.first is None:
            return Wake(within, None, stage)
        return Wake(within, min(self.first, other.first), stage)

    def payload(self) -> str:
        """Return the text of the notification."""
        first = "" if self.first is None else self.first.isoformat()
        return f"{self.within:.3f} {first} {self.stage}".rstrip()


def wake_schedulers_on_commit(due_at: datetime | None, now: datetime) -> None:
    """Wake the schedulers after this transaction commits, if the work is due soon enough."""
    if due_at is not None:
        _wake_in((due_at - now).total_seconds(), None)


def wake_schedulers_from(first: datetime | None, now: datetime) -> None:
    """Wake them as above; ``first`` is the earliest instant that this transaction writes."""
    if first is not None:
        _wake_in((first - now).total_seconds(), first)


def wake_schedulers_in(seconds: float) -> None:
    """Wake the schedulers after this transaction commits, for work that is due in ``seconds``."""
    _wake_in(seconds, None)


def _wake_in(seconds: float, first: datetime | None) -> None:
    if next_look_is_late(seconds):
        within = min(_PATIENCE_SECONDS, max(0.0, seconds - _PATIENT_FROM_SECONDS) / 4)
        # The work is committed, and the next regular check finds it: a wake-up that cannot be
        # sent must not turn the caller's success into an error.
        transaction.on_commit(lambda: _send(Wake(within, first)), robust=True)


def wake_stage_on_commit(stage: str) -> None:
    """Wake one stage of the schedulers, at once, after this transaction commits."""
    transaction.on_commit(lambda: _send(Wake(0.0, None, stage)), robust=True)


def wake_schedulers_now() -> None:
    """Wake the schedulers within this transaction, or at once outside of one."""
    run("leases/wake", {"within": "0"})


def next_look_is_late(seconds: float) -> bool:
    """Return whether a scheduler's next regular check may be too late for work due then."""
    return seconds < conf().scheduler_sleep_seconds + conf().release_seconds + 2.0


def _send(wake: Wake) -> None:
    """Send one notification for all commits that ask while another is being sent."""
    _wanted.append(wake)
    while _wanted and _lock.acquire(blocking=False):
        try:
            # A commit that asks from here on is in the next notification.
            taken = [_wanted.pop() for _ in range(len(_wanted))]
            if taken:
                run("leases/wake", {"within": reduce(or_, taken).payload()})
        finally:
            _lock.release()


class Listener:
    """A session of its own that receives the wake-ups; its socket can be selected on."""

    def __init__(self) -> None:
        parameters = connection.get_connection_params()
        parameters.pop("cursor_factory", None)
        parameters.pop("context", None)
        self._session: psycopg.Connection[tuple[object, ...]] = psycopg.connect(
            **parameters, autocommit=True
        )
        self._session.execute(statement("leases/listen"))

    def fileno(self) -> int:
        """Return the socket to wait on."""
        return self._session.fileno()

    def drain(self) -> Wake | None:
        """Return one wake-up for all that have arrived, None where none has.

        This discards them. Raise when the session is gone.
        """
        heard = [_read(notified.payload) for notified in self._received()]
        return reduce(or_, heard) if heard else None

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _received(self) -> Sequence[psycopg.Notify]:
        return list(self._session.notifies(timeout=0))


def _read(payload: str) -> Wake:
    said, _, rest = payload.partition(" ")
    moment, _, stage = rest.partition(" ")
    try:
        within, first = float(said), datetime.fromisoformat(moment) if moment else None
    except ValueError:
        return Wake(0.0)
    # Any client of the database can send any text here.
    if not 0.0 <= within <= _PATIENCE_SECONDS or (first and first.tzinfo is None):
        return Wake(0.0)
    return Wake(within, first, stage) if stage in ("", *_ALONE) else Wake(0.0)
