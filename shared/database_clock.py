"""The database's time, for moments that are stored, or compared with stored ones.

Hosts of web processes may have other clocks, and a key that one of them ends would be valid on
another one. A process asks the database every few seconds and counts on by a clock of its host that
cannot be set and goes on while the host sleeps. So a call costs no round trip, and is behind the
database by that of the question at most. Where the database's clock jumps, or another database with
another clock takes over, processes follow within ``KEPT_SECONDS``.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.asyncio import async_unsafe

from shared.sql import rows

KEPT_SECONDS = 5.0
#: On Linux ``time.monotonic`` stands still while the host sleeps, and moments would be as old.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class _Measured(NamedTuple):
    """What the database answered, and when that was by :func:`elapsed`."""

    database: datetime
    at: float


_measured: _Measured | None = None


def elapsed() -> float:
    """Return seconds since some moment, those in which the host slept included."""
    return time.clock_gettime(_CLOCK)


@async_unsafe("Ask for the database's time outside of the event loop.")
def now() -> datetime:
    """Return the database's time, aware, in UTC; raise its errors where it has to be asked.

    An event loop is refused every time, and not only once in a while, when the answer is old.
    """
    global _measured
    last = _measured
    if last is None or elapsed() - last.at >= KEPT_SECONDS:
        [(database,)] = rows("leases/database_time")
        last = _measured = _Measured(database, elapsed())
    return last.database + timedelta(seconds=elapsed() - last.at)
