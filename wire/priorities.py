"""Priorities 0 to 9 and their bands, each of which has a queue of its own; knows no database."""

from __future__ import annotations

PRIORITIES = range(10)
BAND_NAMES = ("high", "normal", "low")
#: Within a band, one place in this many goes to the oldest work of any priority.
SHARE = 10


def band_of(priority: int) -> int:
    """Return the priority band: 0 high (0-2), 1 normal (3-6), 2 low (7-9)."""
    return 0 if priority <= 2 else 1 if priority <= 6 else 2
