"""Take days from an iCalendar text into a calendar: beside what it holds, or in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.instants import parse_instant
from tasks.calendar_content import (
    MAX_DATES,
    MAX_WINDOWS,
    Content,
    normal_dates,
    normal_windows,
)
from tasks.ical import Skipped, read_ical

#: Of what was left out so much is listed.
SHOWN_SKIPPED = 100


class Mode(StrEnum):
    """What becomes of the days that a calendar holds already."""

    ADD = "add"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import found: how many dates and windows, and what was left out."""

    dates: int
    windows: int
    skipped: Sequence[Skipped]

    def present(self) -> dict[str, Any]:
        """Return the counts as the API answers them."""
        shown = self.skipped[:SHOWN_SKIPPED]
        return {
            "dates": self.dates,
            "windows": self.windows,
            "skipped_count": len(self.skipped),
            "skipped": [
                {"line": one.line, "name": one.name, "reason": one.reason} for one in shown
            ],
        }


def with_ical(
    content: Content, text: str, mode: Mode, *, now: datetime
) -> tuple[Content, Imported]:
    """Return a calendar with the days of an iCalendar text; raise InvalidInput with its line."""
    found = read_ical(text, now=now)
    dates, windows = normal_dates(found.dates), normal_windows(found.windows)
    imported = Imported(len(dates), len(windows), found.skipped)
    if mode is Mode.ADD:
        dates = normal_dates([*_dates(content), *found.dates])
        windows = normal_windows([*_windows(content), *found.windows])
    for what, items, most in (("dates", dates, MAX_DATES), ("windows", windows, MAX_WINDOWS)):
        if len(items) > most:
            message = f"The calendar would hold more than {most} {what}."
            raise InvalidInput([FieldError("#/ical", "too_many", message)], message)
    return replace(content, dates=dates, windows=windows), imported


def _dates(content: Content) -> list[tuple[date, str]]:
    return [(date.fromisoformat(day["date"]), day["name"]) for day in content.dates]


def _windows(content: Content) -> list[tuple[datetime, datetime, str]]:
    return [
        (parse_instant(one["start"]), parse_instant(one["end"]), one["name"])
        for one in content.windows
    ]
