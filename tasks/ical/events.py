"""One VEVENT, read: when it starts, how long it takes, and the rules of its repetitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tasks.ical.found import Source
from tasks.ical.lines import Component, plain_text
from tasks.ical.values import (
    FindZone,
    Length,
    Moment,
    NotRead,
    Property,
    in_zone_of,
    length_between,
    read_duration,
    read_moment,
    read_moments,
    read_property,
)

NAME_LENGTH = 200
_ONE_DAY = Length(1, timedelta())


@dataclass(slots=True)
class Event:
    """An event of a file; repetitions are local times of its own zone."""

    source: Source
    start: Moment
    length: Length
    sequence: int
    cancelled: bool
    #: The instance that the event replaces, and whether it replaces all later ones too.
    replaces: Moment | None = None
    and_later: bool = False
    rules: list[Property] = field(default_factory=list)
    except_rules: list[Property] = field(default_factory=list)
    more: list[tuple[datetime, Length | None]] = field(default_factory=list)
    less: set[datetime] = field(default_factory=set)
    #: Values that were read otherwise than written, in sentences.
    notes: list[str] = field(default_factory=list)

    @property
    def repeats(self) -> bool:
        """Return whether the event has more than one start."""
        return bool(self.rules or self.more)


def source_of(component: Component) -> Source:
    """Return the name of an event in a report: its line, its summary and its UID."""
    return Source(component.number, _text(component, "SUMMARY"), _text(component, "UID"))


def read_event(component: Component, source: Source, zones: FindZone) -> Event:
    """Return the event of a component; raise NotRead, which says why it cannot be used."""
    if component.problem:
        raise NotRead(component.problem)
    cancelled = _text(component, "STATUS").upper() == "CANCELLED"
    start = _start(component, zones)
    event = Event(
        source=source,
        start=start,
        length=_ONE_DAY if cancelled else _length(component, start, zones),
        sequence=_sequence(component),
        cancelled=cancelled,
        rules=[read_property(line) for line in component.all("RRULE")],
        except_rules=[read_property(line) for line in component.all("EXRULE")],
    )
    _read_replaced(event, component, zones)
    if cancelled:
        return event
    for line in component.all("RDATE"):
        for moment, length in read_moments(read_property(line), zones):
            event.more.append((in_zone_of(moment, start), length))
    for line in component.all("EXDATE"):
        for moment, _ in read_moments(read_property(line), zones):
            event.less.add(in_zone_of(moment, start))
    return event


def _start(component: Component, zones: FindZone) -> Moment:
    line = component.first("DTSTART")
    if line is None:
        raise NotRead("it has no DTSTART")
    return read_moment(read_property(line), zones)


def _length(component: Component, start: Moment, zones: FindZone) -> Length:
    end, duration = component.first("DTEND"), component.first("DURATION")
    if end is not None:
        item = read_property(end)
        length = length_between(start, read_moment(item, zones), item)
    elif duration is not None:
        length = read_duration(read_property(duration))
    else:
        length = _ONE_DAY if start.is_day else Length(0, timedelta())
    if not start.is_day:
        if length == Length(0, timedelta()):
            raise NotRead("it takes no time")
        return length
    # A started day counts as a day; an event that ends on its first day is on that day.
    days = length.days + -(-length.rest // timedelta(days=1))
    return Length(max(1, days), timedelta())


def _read_replaced(event: Event, component: Component, zones: FindZone) -> None:
    line = component.first("RECURRENCE-ID")
    if line is None:
        return
    item = read_property(line)
    event.replaces = read_moment(item, zones)
    event.and_later = item.parameters.get("RANGE", "").upper() == "THISANDFUTURE"


def _sequence(component: Component) -> int:
    text = _text(component, "SEQUENCE")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _text(component: Component, name: str) -> str:
    line = component.first(name)
    if line is None:
        return ""
    try:
        value = read_property(line).value
    except NotRead:
        return ""
    return plain_text(value, NAME_LENGTH)
