"""Measures a worker process for its heartbeat: version, processor and memory."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

_STATM = Path("/proc/self/statm")


class Reading(NamedTuple):
    """The vitals of a process at one moment; 100 percent is one core."""

    version: str
    cpu_percent: float
    memory_bytes: int | None


class Vitals:
    """Measures the process it runs in; the processor's share is that since the last reading."""

    def __init__(self) -> None:
        self._wall, self._busy = time.monotonic(), time.process_time()

    def read(self) -> Reading:
        """Return what is measured now."""
        wall, busy = time.monotonic(), time.process_time()
        passed, used = wall - self._wall, busy - self._busy
        self._wall, self._busy = wall, busy
        return Reading(
            version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
            cpu_percent=round(used / passed * 100, 1) if passed > 0 else 0.0,
            memory_bytes=resident_bytes(),
        )


def resident_bytes() -> int | None:
    """Return the resident memory, or None where the system does not report it."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
