"""The web server's database connections: a request never waits for a server that hangs.

PostgreSQL's own limits (statement_timeout and others) are kept by PostgreSQL; when it is frozen
or cut off, nothing would end a wait. So whoever has waited a moment asks whether it still answers
anybody. Used by the settings as the options of the pool (F7, F8).
"""

from __future__ import annotations

import threading
import time
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen

RV = TypeVar("RV")

#: How long a statement runs before somebody asks whether the server is there.
_ASK_AFTER_SECONDS = 0.5
#: The shortest wait for a connection that libpq knows.
_ANSWER_SECONDS = 2
#: How long an answer, or its absence, is taken for granted.
_KNOWN_SECONDS = 0.5

#: A caller without a connection is told so (503) instead of hanging; who asks later gets one at
#: once, since giving up early lets every request try to connect, where the pool's own pauses
#: between tries would grow to minutes.
_PATIENCE = {"timeout": 1.5, "reconnect_timeout": 0.5}


class Pulse:
    """Whether a server answers, asked at most every half second, by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked_at = float("-inf")
        self._beats = True

    def beats(self, address: str, password: str) -> bool:
        """Say whether the server answers a new connection, be it with a refusal."""
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
        """Run a statement; the empty one, by which the pool looks for life, seldom.

        A connection that answered a moment ago is taken to live: under load the look would be one
        more way to the database and back for each request.
        """
        if query == "" and time.monotonic() - self._answered_at < _KNOWN_SECONDS:
            return None
        return super().execute(query, *args, **kwargs)

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        """Pass everything between the generator and who waits for it; look at the clock."""
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
        return True  # it refuses, as one that starts or has no slot does
    return True


#: What Django gives to the pool of each process of the web server.
POOL: dict[str, Any] = {
    "min_size": 2,
    "max_size": 12,
    "connection_class": PooledConnection,
    **_PATIENCE,
}
