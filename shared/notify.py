"""Wake-ups of schedulers by PostgreSQL notifications.

A commit wakes only when its work is nearer than any scheduler's guaranteed next look, and
concurrent commits share one notification: one per transaction cost 40 % of the commits
(measured, docs/decisions).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

import psycopg
from django.db import connection, transaction

from shared.conf import conf
from shared.sql import run, statement

_lock = threading.Lock()
_wanted = threading.Event()


def wake_schedulers_on_commit(due_at: datetime | None, now: datetime) -> None:
    """Wake the schedulers after this transaction commits, if the work is due soon enough."""
    if due_at is not None:
        wake_schedulers_in((due_at - now).total_seconds())


def wake_schedulers_in(seconds: float) -> None:
    """Wake the schedulers after this transaction commits, for work that is due in so long."""
    if seconds < conf().scheduler_sleep_seconds + conf().release_seconds + 2.0:
        # The work is committed, and the next regular look finds it: a wake-up that cannot be
        # sent must not turn the caller's success into an error.
        transaction.on_commit(_send, robust=True)


def _send() -> None:
    """Send one notification for all commits that ask while another is being sent."""
    _wanted.set()
    while _wanted.is_set() and _lock.acquire(blocking=False):
        try:
            _wanted.clear()
            run("leases/wake")
        finally:
            _lock.release()


class Listener:
    """A session of its own that hears the wake-ups; its socket can be selected on."""

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

    def drain(self) -> bool:
        """Return whether a wake-up arrived, and forget it; raise when the session is gone."""
        return bool(self._received())

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _received(self) -> Sequence[psycopg.Notify]:
        return list(self._session.notifies(timeout=0))
