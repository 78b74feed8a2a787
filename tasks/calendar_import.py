"""Import days of an iCalendar file into a calendar: beside its own days, or in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from shared.instants import format_instant, parse_instant
from tasks.calendar_content import (
    MAX_DATES,
    MAX_WINDOWS,
    Content,
    normal_dates,
    normal_windows,
)
from tasks.ical.found import Found, Remarks
from tasks.ical.nearest import Item, Nearest


class Mode(StrEnum):
    """Whether an import keeps the days that a calendar holds already."""

    ADD = "add"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: how many dates and windows, and the remarks about the file."""

    dates: int
    windows: int
    skipped: Remarks
    notes: Remarks

    def present(self) -> dict[str, Any]:
        """Return the report as every door shows it."""
        return {
            "dates": self.dates,
            "windows": self.windows,
            "skipped_count": self.skipped.count,
            "skipped": [one.present() for one in self.skipped.shown],
            "notes_count": self.notes.count,
            "notes": [one.present() for one in self.notes.shown],
        }


def with_days(
    content: Content, found: Found, mode: Mode, *, now: datetime
) -> tuple[Content, Imported]:
    """Return a calendar with the days of a file, as many as there is room for, nearest first."""
    base = content if mode is Mode.ADD else replace(content, dates=(), windows=())
    skipped = Remarks(found.skipped.count, list(found.skipped.shown))
    dates = _fitting(found.dates, set(_dates(base)), now.date(), MAX_DATES, skipped)
    windows = _fitting(found.windows, set(_windows(base)), now, MAX_WINDOWS, skipped)
    skipped.sort()
    named_dates = [(day, source.name) for day, source in dates]
    named_windows = [(start, end, source.name) for start, end, source in windows]
    edited = replace(
        content,
        dates=normal_dates([*_dates(base).items(), *named_dates]),
        windows=normal_windows(
            [*((*span, name) for span, name in _windows(base).items()), *named_windows]
        ),
    )
    return edited, Imported(len(dates), len(windows), skipped, found.notes)


def _fitting(
    items: list[Any], known: set[Any], today: date, most: int, skipped: Remarks
) -> list[Item]:
    """Return the items that the calendar has or has room for; add remarks about the others."""
    what = "windows" if isinstance(today, datetime) else "dates"
    room = max(0, most - len(known))
    held = [item for item in items if _span(item) in known]
    nearest = Nearest(today, room, what, f"the calendar has room for {room} more")
    nearest.add(item for item in items if _span(item) not in known)
    kept = nearest.kept()
    for source, reason in nearest.dropped():
        skipped.add(source, reason)
    return [*held, *kept]


def _span(item: Item) -> Any:
    return item[0] if len(item) == 2 else item[:-1]


def _dates(content: Content) -> dict[date, str]:
    return {date.fromisoformat(day["date"]): day["name"] for day in content.dates}


def _windows(content: Content) -> dict[tuple[datetime, datetime], str]:
    return {
        (parse_instant(one["start"]), parse_instant(one["end"])): one["name"]
        for one in content.windows
    }


def report_of(imported: Imported, mode: Mode, *, now: datetime) -> dict[str, Any]:
    """Return the report that a calendar keeps of its last import."""
    return {"at": format_instant(now), "mode": mode.value, **imported.present()}
