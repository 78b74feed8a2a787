"""One reading for all scrapes of the same moment, so that ten scrapers cost what one does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from insight.metrics import reading
from insight.metrics.exposition import Collected, writer_for
from insight.metrics.reading import Sample

#: A reading serves the scrapes of this long; what changes slowly serves longer.
FRESH_SECONDS, SLOW_SECONDS = 1.0, 15.0
#: How long a scrape waits for another one that is reading.
_PATIENCE_SECONDS = 5.0


class Busy(RuntimeError):
    """Another scrape has been reading for too long."""


@dataclass(slots=True)
class _Reading:
    at: float
    samples: list[Sample]
    texts: dict[str, bytes] = field(default_factory=dict)


class Collector:
    """The latest reading of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._latest: _Reading | None = None
        self._slow: tuple[float, list[Sample]] | None = None

    def scrape(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics as text and its content type.

        Raise Busy where another scrape is still reading after some seconds. What was read before it
        is no answer: another process may have told more since, and a total never falls.
        """
        writer, content_type = writer_for(accept)
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise Busy("another scrape is still reading")
        try:
            found = self._fresh()
            if content_type not in found.texts:
                found.texts[content_type] = writer(Collected(found.samples))
            return found.texts[content_type], content_type
        finally:
            self._lock.release()

    def _fresh(self) -> _Reading:
        now = self._clock()
        if self._latest is None or now - self._latest.at >= FRESH_SECONDS:
            samples = reading.read(reading.QUICK)
            self._latest = _Reading(now, [*samples, *self._slow_samples(now), reading.version()])
        return self._latest

    def _slow_samples(self, now: float) -> list[Sample]:
        if self._slow is None or now - self._slow[0] >= SLOW_SECONDS:
            found = reading.read(reading.SLOW)
            # Whether the servers answer is told by what is read with each scrape.
            slow = [one for one in found if one.metric != reading.SOURCE_UP]
            if not slow:
                return []
            self._slow = (now, slow)
        return self._slow[1]


COLLECTOR = Collector()
