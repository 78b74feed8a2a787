"""Small iCalendar files for tests, read in this process."""

from __future__ import annotations

from datetime import datetime

import pytest

from tasks.ical.file import read_file
from tasks.ical.found import Found
from tasks.ical.limits import Limits
from tests.tasks.schedules.instants import utc

NOW = utc("2026-11-21 12:00")

#: The time of a loaded machine decides nothing: a test that is about time gives its own.
PATIENT = Limits(file_seconds=600.0, event_seconds=600.0)

#: For a test that spends its time: the timer fires again where its exception was lost, which is
#: where something is destroyed or collected, and Python warns of that.
spends_time = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def calendar(*events: str, head: str = "") -> bytes:
    """Return a file with these events; ``head`` stands before them."""
    lines = ["BEGIN:VCALENDAR", *([head] if head else [])]
    for event in events:
        lines += ["BEGIN:VEVENT", event, "END:VEVENT"]
    return ("\n".join([*lines, "END:VCALENDAR"]) + "\n").encode()


def read(*events: str, head: str = "", limits: Limits = PATIENT) -> Found:
    """Return what a file with these events says."""
    return read_raw(calendar(*events, head=head), limits=limits)


def read_raw(raw: bytes, *, charset: str = "", limits: Limits = PATIENT) -> Found:
    """Return what these bytes say."""
    return read_file(raw, now=NOW, charset=charset, limits=limits)


def local(text: str) -> datetime:
    """Return a local time."""
    return datetime.fromisoformat(text)


def days(found: Found) -> list[str]:
    """Return the dates as text."""
    return [day.isoformat() for day, _ in found.dates]


def spans(found: Found) -> list[str]:
    """Return the windows as text."""
    return [f"{start:%m-%d %H:%M}-{end:%m-%d %H:%M}" for start, end, _ in found.windows]


def reasons(found: Found) -> list[str]:
    """Return why something was left out."""
    return [one.reason for one in found.skipped.shown]


def notes(found: Found) -> list[str]:
    """Return what was read otherwise than written."""
    return [one.reason for one in found.notes.shown]


def zone(name: str, *, standard: str = "+0100", summer: str = "+0200") -> str:
    """Return a VTIMEZONE that changes its clocks as Europe does."""
    return "\n".join(
        (
            f"BEGIN:VTIMEZONE\nTZID:{name}",
            "BEGIN:STANDARD\nDTSTART:19701025T030000",
            "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU",
            f"TZOFFSETFROM:{summer}\nTZOFFSETTO:{standard}\nEND:STANDARD",
            "BEGIN:DAYLIGHT\nDTSTART:19700329T020000",
            "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
            f"TZOFFSETFROM:{standard}\nTZOFFSETTO:{summer}\nEND:DAYLIGHT",
            "END:VTIMEZONE",
        )
    )
