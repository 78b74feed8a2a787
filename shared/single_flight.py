"""One look for all who ask for the same at the same time.

Whoever comes while a look is under way shares the next one, not that: what it gets was read after
it came, as if it had looked itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Asks for the value of a key, once for all threads that wait for it.

    Each of them gets the same object, so nobody may change it. An error is one for all who waited
    when it came up, also for those whose look would have been the next: who cannot be answered is
    told so as soon as a caller without company. ``ask`` has to end by itself; nobody waits for
    anything else.
    """

    def __init__(self, ask: Callable[[K], V]) -> None:
        self._ask = ask
        # Who joins a look must do so before that begins: only what is no longer the next may.
        self._lock = threading.Lock()
        self._under_way: dict[K, _Flight[V]] = {}

    def get(self, key: K) -> V:
        """Return the value as it is now, or was at some time since the call."""
        with self._lock:
            before = self._under_way.get(key)
            if before is None:
                flight, leads = _Flight[V](), True
                self._under_way[key] = flight
            else:
                leads = before.following is None
                flight = before.following = before.following or _Flight[V]()
        return self._lead(key, flight, before) if leads else flight.found.result()

    def _lead(self, key: K, flight: _Flight[V], before: _Flight[V] | None) -> V:
        try:
            if before is not None:
                before.found.result()
            found = self._ask(key)
        except BaseException as error:
            self._land(key, flight)
            flight.found.set_exception(error)
            raise
        self._land(key, flight)
        flight.found.set_result(found)
        return found

    def _land(self, key: K, flight: _Flight[V]) -> None:
        """Make room for the next look, which is of those who have come meanwhile."""
        with self._lock:
            if flight.following is None:
                del self._under_way[key]
            else:
                self._under_way[key] = flight.following


class _Flight(Generic[V]):
    """A look that is under way or waits for the one before it."""

    def __init__(self) -> None:
        self.found: Future[V] = Future()
        self.following: _Flight[V] | None = None
