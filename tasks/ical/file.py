"""Reads one iCalendar file: whole-day events as dates, timed ones as windows.

Events without repetitions are read first, so that an event whose rule takes all the time costs
none of them. Each entry that cannot be used is left out alone, with its line and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from functools import partial
from typing import TypeVar

from tasks.ical.budget import Budget, TimeSpent
from tasks.ical.events import Event, read_event, source_of
from tasks.ical.found import Found, NotIcal, Source
from tasks.ical.limits import Limits
from tasks.ical.lines import Calendar, Component, plain_text, read_calendars
from tasks.ical.nearest import Item, Nearest
from tasks.ical.placing import FIRST, LAST
from tasks.ical.series import Instance, Reach, instances
from tasks.ical.values import Moment, NotRead, read_property
from tasks.ical.zones import FileZones

YEARS_BACK, YEARS_AHEAD = 5, 10
_OUTSIDE = f"it is not within the years {FIRST.year} to {LAST.year}"
_TOO_LONG = "it takes too long to follow"
_FILE_TOO_LONG = "the file takes too long to read, and this event came after the time was spent"
#: Components that people expect to be read, and that are no events.
_OTHER_ENTRIES = frozenset({"VTODO", "VJOURNAL", "VFREEBUSY", "VAVAILABILITY"})

_Read = TypeVar("_Read")


def read_file(
    raw: bytes, *, now: datetime, charset: str = "", limits: Limits | None = None
) -> Found:
    """Return the content of a file; raise NotIcal where the bytes are no iCalendar file."""
    limits = limits or Limits()
    reader = _FileReader(now, limits)
    try:
        with reader.budget.limited(whole_file=True):
            calendars = read_calendars(raw, charset)
    except TimeSpent:
        raise NotIcal(1, "The file takes too long to read.") from None
    for calendar in calendars:
        reader.read(calendar)
    return reader.finish()


class _FileReader:
    """Collects the days and windows of a file's calendars."""

    def __init__(self, now: datetime, limits: Limits) -> None:
        self.budget = Budget(limits.file_seconds, limits.event_seconds)
        self._found = Found()
        why = f"a calendar holds at most {limits.kept}"
        self._dates = Nearest(now.date(), limits.kept, "dates", why)
        self._windows = Nearest(now, limits.kept, "windows", why)
        first = date(max(FIRST.year, now.year - YEARS_BACK), 1, 1)
        last = date(min(LAST.year, now.year + YEARS_AHEAD), 12, 31)
        self._reach = Reach(first, last, limits.repetitions)

    def read(self, calendar: Calendar) -> None:
        """Read the events of a calendar."""
        zones = FileZones(
            [part for part in calendar.parts if part.name == "VTIMEZONE"],
            (self._reach.first.year, self._reach.last.year),
            _value(calendar, "X-WR-TIMEZONE"),
        )
        groups: dict[str, list[Event]] = {}
        for place, part in enumerate(part for part in calendar.parts if part.name == "VEVENT"):
            event = self._read_event(part, calendar, zones)
            if event is not None:
                uid = part.first("UID")
                groups.setdefault(uid.text if uid else str(place), []).append(event)
        for group in sorted(groups.values(), key=_repeats):
            self._read_group(group)
        self._note(calendar, zones)

    def finish(self) -> Found:
        """Return the days, the windows and the remarks."""
        self._found.dates = self._dates.kept()
        self._found.windows = self._windows.kept()
        for source, reason in (*self._dates.dropped(), *self._windows.dropped()):
            self._found.skipped.add(source, reason)
        self._found.skipped.sort()
        self._found.notes.sort()
        return self._found

    def _read_event(self, part: Component, calendar: Calendar, zones: FileZones) -> Event | None:
        source = source_of(part)
        if part.stray:
            text = f"line {part.stray} is no property and was passed over"
            self._found.notes.add(source, text)
        reason = _reason_of_all(calendar)
        if reason:
            self._found.skipped.add(source, reason)
            return None
        return self._guarded(source, partial(read_event, part, source, zones.find))

    def _read_group(self, group: list[Event]) -> None:
        """Read the events of one UID: the last versions, and the events that replace instances."""
        masters = self._last_versions([one for one in group if one.replaces is None])
        replacing = self._last_versions([one for one in group if one.replaces is not None])
        for master in masters:
            self._take(master, partial(instances, master, replacing, self._reach))
        for one in replacing:
            self._take(one, partial(_alone, one))

    def _last_versions(self, events: list[Event]) -> list[Event]:
        """Return the events without those of which the file has a later version."""
        latest: dict[Moment | None, int] = {}
        for one in events:
            latest[one.replaces] = max(one.sequence, latest.get(one.replaces, 0))
        for one in events:
            if one.sequence < latest[one.replaces]:
                reason = f"the file has a later version of it, SEQUENCE {latest[one.replaces]}"
                self._found.skipped.add(one.source, reason)
        return [one for one in events if one.sequence == latest[one.replaces]]

    def _take(self, event: Event, find: Callable[[], list[Instance]]) -> None:
        """Add the days or windows of an event."""
        if event.cancelled:
            self._found.skipped.add(event.source, "it is cancelled")
            return
        spans = self._guarded(event.source, lambda: list(_spans(find(), event.source)))
        for reason in event.notes:
            self._found.notes.add(event.source, reason)
        (self._dates if event.start.is_day else self._windows).add(spans or ())

    def _guarded(self, source: Source, read: Callable[[], _Read]) -> _Read | None:
        """Return the result of ``read``; note the reason and return None for an event left out."""
        try:
            with self.budget.limited():
                return read()
        except NotRead as problem:
            reason = str(problem)
        except TimeSpent:
            reason = _FILE_TOO_LONG if self.budget.spent else _TOO_LONG
        except MemoryError:
            reason = "it takes too much memory"
        except Exception as problem:  # noqa: BLE001 - strangers' values meet libraries: one event
            reason = (
                f"it cannot be read ({type(problem).__name__}: {plain_text(str(problem), 100)})"
            )
        self._found.skipped.add(source, reason)
        return None

    def _note(self, calendar: Calendar, zones: FileZones) -> None:
        source = Source(calendar.number)
        notes = self._found.notes
        if zones.assumed_utc:
            notes.add(source, "times without a zone were read as UTC, since the file names no zone")
        if calendar.problem:
            notes.add(source, calendar.problem)
        if calendar.stray:
            notes.add(Source(calendar.stray), "this line is no property and was passed over")
        for name, (line, count) in calendar.others.items():
            if name in _OTHER_ENTRIES:
                plural = "is no event" if count == 1 else "are no events"
                self._found.skipped.add(Source(line), f"{count} {name} {plural}")


def _spans(found: Iterable[Instance], source: Source) -> Iterator[Item]:
    for one in found:
        if not one.start.is_day:
            start, end = one.start.instant(), one.length.end_of(one.start)
            if end > LAST:
                raise NotRead(_OUTSIDE)
            yield start, end, source
            continue
        first = one.start.local.toordinal()
        low, high = max(first, FIRST.toordinal()), LAST.toordinal()
        if high < low or first + one.length.days <= low:
            raise NotRead(_OUTSIDE)
        for day in range(low, min(first + one.length.days - 1, high) + 1):
            yield date.fromordinal(day), source


def _alone(event: Event) -> list[Instance]:
    return [Instance(event.start, event.length)]


def _repeats(group: list[Event]) -> bool:
    return any(one.repeats for one in group)


def _reason_of_all(calendar: Calendar) -> str:
    """Return why no event of a calendar can be used, or nothing."""
    if _value(calendar, "METHOD").upper() == "CANCEL":
        return "the file cancels it (METHOD:CANCEL)"
    scale = _value(calendar, "CALSCALE").upper()
    if scale not in ("", "GREGORIAN"):
        return f"the file counts days by another calendar (CALSCALE:{plain_text(scale, 40)})"
    return ""


def _value(calendar: Calendar, name: str) -> str:
    line = calendar.first(name)
    try:
        return read_property(line).value if line is not None else ""
    except NotRead:
        return ""
