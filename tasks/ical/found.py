"""The result of reading an iCalendar file, as the reading process sends it to its caller.

Plain values only: neither side needs the other's libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tasks.schedules.zones import EPOCH

#: Entries that a report lists; the others are only counted.
SHOWN = 100
#: A day, or the start and end of a window.
Span = tuple[date, date] | tuple[datetime, datetime]


class NotIcal(Exception):
    """The bytes are no iCalendar file; the message says why, ``line`` where."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Source:
    """The event that a day or window comes from."""

    line: int
    name: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something in the file that was left out, or read otherwise than written, and why."""

    source: Source
    reason: str

    def present(self) -> dict[str, Any]:
        """Return the remark as the API shows it."""
        return {**asdict(self.source), "reason": self.reason}


@dataclass(slots=True)
class Remarks:
    """Remarks in the order of lines: the first are listed, all are counted."""

    count: int = 0
    shown: list[Remark] = field(default_factory=list)

    def add(self, source: Source, reason: str) -> None:
        """Add a remark; keep the list short."""
        self.count += 1
        self.shown.append(Remark(source, reason))
        if len(self.shown) > 20 * SHOWN:
            self.sort()

    def sort(self) -> None:
        """Order the remarks by line and drop those beyond the list's length."""
        self.shown.sort(key=lambda one: one.source.line)
        del self.shown[SHOWN:]

    def dump(self) -> list[Any]:
        """Return the remarks as JSON values."""
        self.sort()
        return [self.count, [one.present() for one in self.shown]]

    @classmethod
    def load(cls, value: Sequence[Any]) -> Remarks:
        """Return the remarks that :meth:`dump` made."""
        count, shown = value
        remarks = [
            Remark(Source(one["line"], one["name"], one["uid"]), one["reason"]) for one in shown
        ]
        return cls(count, remarks)


@dataclass(slots=True)
class Found:
    """The days and windows of a file, and the remarks about it."""

    dates: list[tuple[date, Source]] = field(default_factory=list)
    windows: list[tuple[datetime, datetime, Source]] = field(default_factory=list)
    skipped: Remarks = field(default_factory=Remarks)
    notes: Remarks = field(default_factory=Remarks)

    def dump(self) -> dict[str, Any]:
        """Return everything as JSON values; an event is written once."""
        places: dict[Source, int] = {}
        dates = [[day.isoformat(), places.setdefault(of, len(places))] for day, of in self.dates]
        windows = [
            [_seconds(start), _seconds(end), places.setdefault(of, len(places))]
            for start, end, of in self.windows
        ]
        return {
            "sources": [[one.line, one.name, one.uid] for one in places],
            "dates": dates,
            "windows": windows,
            "skipped": self.skipped.dump(),
            "notes": self.notes.dump(),
        }

    @classmethod
    def load(cls, document: dict[str, Any]) -> Found:
        """Return the days, windows and remarks that :meth:`dump` wrote."""
        sources = [Source(*one) for one in document["sources"]]
        return cls(
            [(date.fromisoformat(day), sources[place]) for day, place in document["dates"]],
            [
                (_instant(start), _instant(end), sources[place])
                for start, end, place in document["windows"]
            ],
            Remarks.load(document["skipped"]),
            Remarks.load(document["notes"]),
        )


def _seconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(seconds=1)


def _instant(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)
