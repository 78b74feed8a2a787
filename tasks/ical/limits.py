"""What reading one iCalendar file may cost."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of a file: an export of many years of a busy calendar.
MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may cost."""

    #: Processor seconds, of the file and of one event. A file of 8 MiB with 30,000 events takes 6.
    file_seconds: float = 10.0
    event_seconds: float = 2.0
    #: Repetitions of one rule: every three hours for sixteen years are 46,752.
    repetitions: int = 50_000
    #: Dates, and windows, that are kept.
    kept: int = 10_000
