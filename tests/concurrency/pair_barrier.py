"""Two operations at once: the first stops before its commit, the second meets what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections

from executions.ledger import retention
from shared.exceptions import Conflict, NotFound, Unavailable

#: What a service may answer instead of doing what it was asked.
ANSWERS = (Conflict, NotFound, Unavailable)
_BLOCKED = """
SELECT count(*) FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.backend_type = 'client backend'
  AND a.pid <> pg_backend_pid() AND cardinality(pg_blocking_pids(a.pid)) > 0
"""
_CHANGES = "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"


class Session:
    """An operation in a thread, and so in a database session, of its own."""

    def __init__(
        self, work: Callable[[], Any], *, stops: bool = False, after: int | None = None
    ) -> None:
        self.result: Any = None
        self.answer: BaseException | None = None
        #: Whether it came to its commit, or so far, with something written or locked.
        self.stopped = False
        self._stops = stops
        #: Statements that write or lock, after which it stops already before its commit.
        self._after = after
        self._work = work
        self._error: BaseException | None = None
        self._there, self._go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def did(self) -> bool:
        return self.answer is None

    def stop_before_commit(self) -> None:
        """Wait until it stops, or has ended without anything to commit."""
        assert self._there.wait(30)

    def meets_a_lock(self) -> bool:
        """Wait until a session waits for another, or this one has ended; say whether it waits."""
        while self._thread.is_alive():
            with connection.cursor() as cursor:
                cursor.execute(_BLOCKED)
                if cursor.fetchone()[0]:
                    return True
            self._thread.join(0.005)
        return False

    def go_on(self) -> None:
        self._go_on.set()

    def join(self) -> None:
        """Wait for its end; raise what is not an answer of a service."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error

    def barrier(self) -> None:
        if self._stops and not self.stopped:
            self.stopped = True
            self._there.set()
            assert self._go_on.wait(30)

    def _run(self) -> None:
        try:
            _here.session = self
            if self._stops:
                self._stop_at_commit()
            with connection.execute_wrapper(self._count):
                self.result = self._work()
        except ANSWERS as answer:
            self.answer = answer
        except BaseException as error:  # noqa: BLE001 - raised again where it is joined
            self._error = error
        finally:
            self._there.set()
            connections.close_all()

    def _count(self, execute: Callable[..., Any], query: Any, *arguments: Any) -> Any:
        done = execute(query, *arguments)
        if self._after and query != _CHANGES and connection.in_atomic_block and _has_changes():
            self._after -= 1
            if not self._after:
                self.barrier()
        return done

    def _stop_at_commit(self) -> None:
        own = connections["default"]
        commit = own.commit

        def stop_and_commit() -> None:
            if not self.stopped and _has_changes():
                self.barrier()
            commit()

        own.commit = stop_and_commit  # type: ignore[method-assign]  # of this thread's session


_here = threading.local()


def _has_changes() -> bool:
    """Say whether the transaction has written or locked a row."""
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES)
        return bool(cursor.fetchone()[0])


@contextmanager
def retention_stops() -> Iterator[None]:
    """Let retention, which commits each statement, stop before it drops a day that has left."""
    detach = retention._detach

    def detach_and_stop(of_retention: retention.Session, table: str) -> None:
        detach(of_retention, table)
        session = getattr(_here, "session", None)
        if session is not None:
            session.barrier()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention, "_detach", detach_and_stop)
        yield


def run_both(
    first: Callable[[], Any], second: Callable[[], Any], *, after: int | None = None
) -> tuple[Session, Session, bool]:
    """Run the second while the first stands before its commit; say also whether it had to wait.

    With ``after`` the first stands behind that many statements that write or lock, and asks for
    more while the second waits for it: two orders of locks become a deadlock.
    """
    with retention_stops():
        ahead = Session(first, stops=True, after=after)
        try:
            ahead.stop_before_commit()
            behind = Session(second)
            waited = behind.meets_a_lock()
        finally:
            ahead.go_on()
        ahead.join()
        behind.join()
    return ahead, behind, waited
