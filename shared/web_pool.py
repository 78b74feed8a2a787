"""The web server's database connections: a request never waits for a server that hangs.

PostgreSQL itself enforces its limits (statement_timeout and others); when it is frozen or cut
off, nothing would end a wait. So a connection that has waited a moment checks whether the server
still answers a new one. The settings use this as the options of the pool.
"""

from __future__ import annotations

import threading
import time
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen

RV = TypeVar("RV")

#: How long a statement runs before its connection checks whether the server answers.
_ASK_AFTER_SECONDS = 0.5
#: The shortest wait for a connection that libpq knows.
_ANSWER_SECONDS = 2
#: How long an answer, or its absence, counts as current.
_KNOWN_SECONDS = 0.5

#: A request without a connection gets 503 instead of hanging. The pool gives up early, so that
#: every request tries to connect and the first after the outage succeeds at once; the pool's own
#: pauses between tries would grow to minutes.
_PATIENCE = {"timeout": 1.5, "reconnect_timeout": 0.5}


class Pulse:
    """Whether a server answers, asked at most every half second, by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked_at = float("-inf")
        self._beats = True

    def beats(self, address: str, password: str) -> bool:
        """Return whether the server answers a new connection, even with a refusal."""
        with self._lock:
            if time.monotonic() - self._asked_at > _KNOWN_SECONDS:
                self._beats = _answers(address, password)
                self._asked_at = time.monotonic()
            return self._beats


_pulse = Pulse()


class PooledConnection(psycopg.Connection[Any]):
    """A connection whose waits end with OperationalError when its server hangs."""

    _answered_at = float("-inf")

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        answer = super().wait(self._watched(gen), interval, timeout)
        self._answered_at = time.monotonic()
        return answer

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a statement; skip the pool's empty check right after an answer.

        A connection that answered a moment ago is assumed to work: under load the check would be
        one more round trip for each request.
        """
        if query == "" and time.monotonic() - self._answered_at < _KNOWN_SECONDS:
            return None
        return super().execute(query, *args, **kwargs)

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        """Pass everything between the generator and its caller; watch the time."""
        began = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() - began > _ASK_AFTER_SECONDS:
                    self._require_pulse()
                wanted = gen.send(ready)
        except StopIteration as ended:
            answer: RV = ended.value
            return answer

    def _require_pulse(self) -> None:
        if not _pulse.beats(self.info.dsn, self.info.password):
            self.pgconn.finish()
            raise psycopg.OperationalError("the database does not answer")


def _answers(address: str, password: str) -> bool:
    try:
        psycopg.connect(address, password=password, connect_timeout=_ANSWER_SECONDS).close()
    except errors.ConnectionTimeout:
        return False
    except psycopg.OperationalError:
        return True  # it refuses, as a server that starts or has no free slot does
    return True


#: What Django gives to the pool of each process of the web server.
POOL: dict[str, Any] = {
    "min_size": 2,
    "max_size": 12,
    "connection_class": PooledConnection,
    **_PATIENCE,
}
