"""The database's time, for moments that are stored, or compared with stored ones.

Hosts of web processes may have other clocks, and a key that one of them ends would be valid on
another one. A process asks the database every few seconds and counts on by its monotonic clock,
which setting a clock does not move. So a call costs no round trip, and is behind the database by
that of the question at most.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from time import monotonic
from typing import NamedTuple

from shared.sql import rows

KEPT_SECONDS = 5.0


class _Measured(NamedTuple):
    """What the database answered, and when that was by the monotonic clock."""

    database: datetime
    at: float


_measured: _Measured | None = None


def now() -> datetime:
    """Return the database's time, aware, in UTC; raise its errors where it has to be asked."""
    global _measured
    last = _measured
    if last is None or monotonic() - last.at >= KEPT_SECONDS:
        [(database,)] = rows("leases/database_time")
        last = _measured = _Measured(database, monotonic())
    return last.database + timedelta(seconds=monotonic() - last.at)
