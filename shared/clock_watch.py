"""How far each process's clock is from Redis': each process measures and reports it in a thread.

No decision rests on a process's clock, but logs, tokens and certificates do. ``doctor``,
``status`` and the log report a clock that is off. Only a proven offset counts: a slow answer
proves little.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from dataclasses import dataclass
from typing import cast

import orjson

from shared.redis_client import CLOCKS_KEY, ConnectionFailed, client

log = logging.getLogger(__name__)

#: A clock that is further off is shown and alarmed.
TOLERATED_SECONDS = 0.1
_EVERY_SECONDS = 5.0
_SAMPLES = 3
#: An older measurement does not count.
_FRESH_SECONDS = 30.0
_FORGOTTEN_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class Skew:
    """A process whose clock is off by at least ``seconds``: ahead, or behind when negative."""

    process: str
    seconds: float

    def __str__(self) -> str:
        """Return it in words."""
        way = "ahead" if self.seconds > 0 else "behind"
        return f"the clock of {self.process} is {abs(self.seconds):.1f} s {way}"


def proven(before: float, there: float, after: float) -> float:
    """Return what an answer proves of our clock minus the other: 0 where they may agree."""
    if before <= there <= after:
        return 0.0
    return before - there if there < before else after - there


def measure() -> float:
    """Return by how much this process's clock is proven to be ahead of Redis'.

    One quick answer that proves no offset is enough. Of several answers the quickest counts.
    """
    best = _sample()
    for _ in range(_SAMPLES - 1):
        if best[1] or best[0] > TOLERATED_SECONDS:
            best = min(best, _sample())
    return best[1]


def _sample() -> tuple[float, float]:
    began, before = time.monotonic(), time.time()
    there = _now()
    return time.monotonic() - began, proven(before, there, time.time())


def skews() -> list[Skew]:
    """Return the processes whose clock is off by more than is tolerated, the worst first."""
    return [skew for skew in offsets() if abs(skew.seconds) > TOLERATED_SECONDS]


def offsets() -> list[Skew]:
    """Return what each process has measured lately, the worst first; 0 where nothing is proven."""
    now = _now()
    found, old = [], []
    said = cast(dict[bytes, bytes], client().hgetall(CLOCKS_KEY))
    for name, raw in said.items():
        seconds, at = orjson.loads(raw)
        if now - at > _FORGOTTEN_SECONDS:
            old.append(name)
        elif now - at < _FRESH_SECONDS:
            found.append(Skew(name.decode(), seconds))
    if old:
        client().hdel(CLOCKS_KEY, *old)
    return sorted(found, key=lambda skew: (-abs(skew.seconds), skew.process))


class ClockWatch:
    """The thread of one process; it lives as long as the process."""

    def __init__(self, kind: str) -> None:
        self._name = f"{os.environ.get('PROCESS_NAME', kind)}@{socket.gethostname()}"
        self._was_off = False
        self._thread = threading.Thread(target=self._watch, name="clock-watch", daemon=True)

    def start(self) -> None:
        """Begin to measure."""
        self._thread.start()

    def look(self) -> None:
        """Measure once, store it in Redis, and log when the clock goes off or agrees again."""
        seconds = measure()
        client().hset(CLOCKS_KEY, self._name, orjson.dumps([seconds, _now()]).decode())
        off = abs(seconds) > TOLERATED_SECONDS
        if off != self._was_off:
            if off:
                log.warning("clock.off", extra={"seconds": seconds})
            else:
                log.warning("clock.agreed", extra={"seconds": seconds})
        self._was_off = off

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.look()
            except ConnectionFailed as error:
                log.debug("clock.not_measured", extra={"reason": type(error).__name__})
            pause.wait(_EVERY_SECONDS)


def _now() -> float:
    seconds, micros = client().time()
    return float(seconds + micros / 1e6)
