"""Values of an event's properties: moments as local time with their zone, and lengths.

``icalendar`` reads the text of each value; a value that it takes for local time gets its zone here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from icalendar.parser import Contentline
from icalendar.prop import vDDDTypes, vDuration

from tasks.ical.lines import Line, plain_text
from tasks.ical.placing import FIRST, LAST, instant_of, local_of
from tasks.schedules.zones import Zone

LONGEST_DAYS = 3_700
_SHOWN = 60
_WHOLE_DAYS = re.compile(r"(\d+)([WD])", re.ASCII)
_LEAP_SECOND = re.compile(r"(T\d{4})60", re.ASCII)


class NotRead(Exception):
    """The event cannot be used; the message says why."""


#: From a time zone id to the zone; raises NotRead. Nothing is the zone of floating times.
FindZone = Callable[[str], Zone]


@dataclass(frozen=True, slots=True)
class Property:
    """A content line in its parts."""

    line: int
    name: str
    parameters: dict[str, str]
    value: str

    def wrong(self, what: str) -> NotRead:
        """Return the error that names the property and its line."""
        return NotRead(f"its {self.name} (line {self.line}) {what}")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of an event: local time, and the zone that it is local to; whole days have none."""

    local: datetime
    zone: Zone | None

    @property
    def is_day(self) -> bool:
        """Return whether this is a whole day."""
        return self.zone is None

    def instant(self) -> datetime:
        """Return the moment in UTC; raise NotRead outside of the years that calendars cover."""
        if self.zone is None:
            raise ValueError("a whole day is no instant")
        found = instant_of(self.zone, self.local)
        if found is None:
            raise NotRead(f"it is not within the years {FIRST.year} to {LAST.year}")
        return found


@dataclass(frozen=True, slots=True)
class Length:
    """How long an event takes: whole local days, then exact time."""

    days: int
    rest: timedelta

    def end_of(self, start: Moment) -> datetime:
        """Return when the event ends that starts at this moment."""
        if not self.days:
            return start.instant() + self.rest
        return Moment(_later(start.local, self.days), start.zone).instant() + self.rest


def read_property(line: Line) -> Property:
    """Return a line's parts; raise NotRead where it has none."""
    try:
        name, parameters, value = Contentline(line.text).raw_parts()
    except ValueError:
        raise NotRead(f"its {line.name} (line {line.number}) is no property") from None
    found = {key.upper(): _one(value) for key, value in parameters.items()}
    return Property(line.number, name.upper(), found, value.strip())


def read_moment(item: Property, zones: FindZone, text: str | None = None) -> Moment:
    """Return the moment of a property; raise NotRead where it is none."""
    shown = item.value if text is None else text
    text = _LEAP_SECOND.sub(r"\g<1>59", shown.strip().upper())
    if item.parameters.get("VALUE", "").upper() == "DATE":
        text = text[:8]
    found = _library_value(item, text, shown)
    if isinstance(found, datetime):
        if found.utcoffset() is not None:
            return Moment(found.replace(tzinfo=None), zones("UTC"))
        return Moment(found, zones(item.parameters.get("TZID", "")))
    if isinstance(found, date):
        return Moment(datetime.combine(found, time()), None)
    raise item.wrong(f"is no date and no time: {plain_text(shown, _SHOWN)!r}")


def read_moments(item: Property, zones: FindZone) -> Iterator[tuple[Moment, Length | None]]:
    """Yield the moments of a list; a period has a length of its own."""
    for text in item.value.split(","):
        if not text.strip():
            continue
        begin, slash, end = text.partition("/")
        moment = read_moment(item, zones, begin)
        if not slash or moment.is_day:
            yield moment, None
            continue
        end = end.strip().upper()
        if end.startswith(("P", "+P", "-P")):
            yield moment, read_duration(item, end)
        else:
            last = read_moment(item, zones, end)
            if last.is_day:
                raise item.wrong("has a period from a time to a day")
            yield moment, length_between(moment, last, item)


def read_duration(item: Property, text: str | None = None) -> Length:
    """Return the length of a duration; raise NotRead where there is none or it is not positive."""
    shown = item.value if text is None else text
    text = shown.strip().upper()
    found = _library_value(item, text, shown)
    if not isinstance(found, timedelta):
        raise item.wrong(f"is no duration: {plain_text(shown, _SHOWN)!r}")
    # Days of a duration are days of the calendar, its hours are exact: the library adds both up.
    parts = _WHOLE_DAYS.findall(text.partition("T")[0])
    days = sum(int(count) * (7 if unit == "W" else 1) for count, unit in parts)
    if found < timedelta():
        raise item.wrong("is negative")
    _refuse_long(found)
    return Length(days, found - timedelta(days=days))


def length_between(start: Moment, end: Moment, item: Property) -> Length:
    """Return the length from start to end; raise NotRead when there is none."""
    if start.is_day != end.is_day:
        raise item.wrong("and its DTSTART are not both days or both times")
    found = end.local - start.local if start.is_day else end.instant() - start.instant()
    if found < timedelta():
        raise item.wrong("is before its start")
    _refuse_long(found)
    return Length(found.days, timedelta()) if start.is_day else Length(0, found)


def in_zone_of(moment: Moment, start: Moment) -> datetime:
    """Return a moment as local time of an event that starts at ``start``.

    A day becomes the event's time on that day. A time becomes its day where events are whole days.
    """
    if start.zone is None:
        return datetime.combine(moment.local.date(), time())
    if moment.zone is None:
        return datetime.combine(moment.local.date(), start.local.time())
    if moment.zone is start.zone:
        return moment.local
    instant = instant_of(moment.zone, moment.local)
    if instant is None:
        return moment.local
    return local_of(start.zone, instant)


def _library_value(item: Property, text: str, shown: str) -> Any:
    try:
        if text.startswith(("P", "+P", "-P")):
            return vDuration.from_ical(text)
        return vDDDTypes.from_ical(text)
    except (ValueError, TypeError, OverflowError):
        raise item.wrong(f"cannot be read: {plain_text(shown, _SHOWN)!r}") from None


def _one(value: Any) -> str:
    return str(value[0] if isinstance(value, list) else value)


def _later(local: datetime, days: int) -> datetime:
    try:
        return local + timedelta(days=days)
    except OverflowError:
        return local


def _refuse_long(length: timedelta) -> None:
    if length.days > LONGEST_DAYS:
        raise NotRead("it is longer than ten years")
