"""What an iCalendar file says of a calendar: whole days as dates, timed events as windows.

Repeating events are followed from five years back to ten years ahead, at a bounded cost. What
is not understood is left out and said with its line; what is no iCalendar is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from shared.exceptions import FieldError, InvalidInput
from tasks.calendar_content import (
    FIRST_DAY,
    LAST_DAY,
    MAX_DATES,
    MAX_WINDOWS,
    NAME_LENGTH,
)
from tasks.ical_lines import Component, Property, plain_text, read_components, refuse
from tasks.ical_rules import Budget, BudgetSpent, RuleBroken, RuleNotRead, expand, read_rule
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.zones import EPOCH, UnknownZone, Zone, find_zone

YEARS_BACK, YEARS_AHEAD = 5, 10
#: Days that the rules of one file may make us look at; a year of a daily rule are 366.
_BUDGET = 500_000
_LONGEST_DAYS = 3_700
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
_TIME = re.compile(r"(\d{8})T(\d{2})(\d{2})(\d{2})(Z?)", re.ASCII)
_DURATION = re.compile(
    r"\+?P(?:(\d{1,4})W|(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?)",
    re.ASCII,
)
_SECOND = timedelta(seconds=1)
_NAIVE_EPOCH = datetime.combine(FIRST_DAY, time())


@dataclass(frozen=True, slots=True)
class Skipped:
    """An event that was left out, and why."""

    line: int
    name: str
    reason: str


@dataclass(slots=True)
class Found:
    """What a file holds."""

    dates: list[tuple[date, str]] = field(default_factory=list)
    windows: list[tuple[datetime, datetime, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class _NotRead(Exception):
    """The event cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class _When:
    """A moment of an event: local time, and the zone that it is local to; whole days have none."""

    local: datetime
    zone: Zone | None


@dataclass(frozen=True, slots=True)
class _Range:
    first: date
    last: date
    budget: Budget
    zone: Zone


def read_ical(text: str, *, now: datetime) -> Found:
    """Return the dates and windows of a text; raise InvalidInput with the line of what is broken.

    Floating times are local to the file's ``X-WR-TIMEZONE``, else UTC.
    """
    found = Found()
    budget = Budget(_BUDGET)
    for calendar in read_components(text):
        reach = _Range(
            date(max(FIRST_DAY.year, now.year - YEARS_BACK), 1, 1),
            date(min(LAST_DAY.year, now.year + YEARS_AHEAD), 12, 31),
            budget,
            _default_zone(calendar),
        )
        events = [part for part in calendar.components if part.name == "VEVENT"]
        moved = _overridden(events, reach)
        for event in events:
            _read_event(event, found, moved, reach)
    return found


def _read_event(
    event: Component, found: Found, moved: dict[str, set[datetime]], reach: _Range
) -> None:
    summary = event.first("SUMMARY")
    name = plain_text(summary.value, NAME_LENGTH) if summary else ""
    try:
        status = event.first("STATUS")
        if status is not None and status.value.strip().upper() == "CANCELLED":
            raise _NotRead("it is cancelled")
        start = _start(event, reach)
        length = _length(event, start, reach)
        for local in _instances(event, start, moved, reach):
            _add(found, _When(local, start.zone), length, name)
    except (_NotRead, RuleNotRead) as problem:
        found.skipped.append(Skipped(event.line, name, str(problem)))
    except BudgetSpent:
        reason = "the rules of this file take too long to follow"
        found.skipped.append(Skipped(event.line, name, reason))
    _refuse_too_many(found)


def _add(found: Found, start: _When, length: timedelta, name: str) -> None:
    if start.zone is None:
        first = start.local.date().toordinal()
        low, high = max(first, FIRST_DAY.toordinal()), LAST_DAY.toordinal()
        for day in range(low, min(first + max(1, length.days) - 1, high) + 1):
            found.dates.append((date.fromordinal(day), name))
        return
    begin = _instant(start)
    if begin is None:
        raise _NotRead("it is not within the years 1970 to 2199")
    found.windows.append((begin, begin + length, name))


def _instances(
    event: Component, start: _When, moved: dict[str, set[datetime]], reach: _Range
) -> Iterator[datetime]:
    """Yield the local times at which the event begins, without those that were taken out."""
    out = {when.local for when in _listed(event, "EXDATE", start, reach)}
    if event.first("RECURRENCE-ID") is None:
        out |= moved.get(_uid(event), set())
    rule = event.first("RRULE")
    locals_ = {start.local} if rule is None else set(_repeated(rule, start, reach))
    locals_ |= {when.local for when in _listed(event, "RDATE", start, reach)}
    yield from sorted(locals_ - out)


def _repeated(rule: Property, start: _When, reach: _Range) -> Iterator[datetime]:
    try:
        read = read_rule(rule.value)
        until = _until(rule, read.until, start, reach)
    except RuleBroken as problem:
        raise refuse(rule.line, f"{problem}.") from problem
    clock = start.local.time()
    for day in expand(read, start.local.date(), reach.last, reach.first, reach.budget):
        local = datetime.combine(day, clock)
        if until is not None and local > until:
            return
        yield local


def _until(rule: Property, text: str, start: _When, reach: _Range) -> datetime | None:
    if not text:
        return None
    if _DATE.fullmatch(text):
        return datetime.combine(_date(rule.line, text), datetime.max.time())
    when = _moment(Property(rule.line, "UNTIL", {}, text), reach)
    return when.local if start.zone is None else _in_zone(when, start.zone)


# --- values --------------------------------------------------------------------------------


def _start(event: Component, reach: _Range) -> _When:
    start = event.first("DTSTART")
    if start is None:
        raise refuse(event.line, "An event needs a DTSTART.")
    return _moment(start, reach)


def _length(event: Component, start: _When, reach: _Range) -> timedelta:
    end, duration = event.first("DTEND"), event.first("DURATION")
    length = timedelta(days=1 if start.zone is None else 0)
    if end is not None:
        last = _moment(end, reach)
        if (last.zone is None) != (start.zone is None):
            raise refuse(end.line, "DTSTART and DTEND must both be days or both be times.")
        begin, finish = _instant(start), _instant(last)
        days = start.zone is None or begin is None or finish is None
        length = last.local - start.local if days else finish - begin  # type: ignore[operator]  # none is None here
        if length < timedelta():
            raise refuse(end.line, "The event ends before it starts.")
    elif duration is not None:
        length = _duration(duration)
    if start.zone is not None and not length:
        raise _NotRead("it takes no time")
    if length.days > _LONGEST_DAYS:
        raise _NotRead("it is longer than ten years")
    return length


def _duration(item: Property) -> timedelta:
    found = _DURATION.fullmatch(item.value.strip().upper())
    if found is None or not any(found.groups()):
        raise refuse(item.line, "This is no duration such as PT2H or P1D.")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def _listed(event: Component, name: str, start: _When, reach: _Range) -> Iterator[_When]:
    """Yield the moments of a list such as EXDATE, as local times of the event's own zone."""
    for item in event.all(name):
        for text in item.value.split(","):
            if not text.strip():
                continue
            part = text.partition("/")[0]  # a period is taken by its start
            when = _moment(Property(item.line, name, item.parameters, part), reach)
            if start.zone is None or when.zone is None:
                clock = start.local.time()
                yield _When(datetime.combine(when.local.date(), clock), start.zone)
            else:
                yield _When(_in_zone(when, start.zone), start.zone)


def _moment(item: Property, reach: _Range) -> _When:
    text = item.value.strip()
    if item.parameters.get("VALUE", "").upper() == "DATE" or _DATE.fullmatch(text):
        day = _date(item.line, text[:8])
        return _When(datetime.combine(day, time()), None)
    found = _TIME.fullmatch(text)
    if found is None:
        raise refuse(item.line, f"{plain_text(text, 40)!r} is no date and no time.")
    day = _date(item.line, found[1])
    hour, minute, second = int(found[2]), int(found[3]), min(int(found[4]), 59)
    if hour > 23 or minute > 59 or int(found[4]) > 60:
        raise refuse(item.line, f"{plain_text(text, 40)!r} is no time.")
    local = datetime.combine(day, time(hour, minute, second))
    if found[5]:
        return _When(local, find_zone("UTC"))
    named = item.parameters.get("TZID")
    return _When(local, _zone(named) if named else reach.zone)


def _date(line: int, text: str) -> date:
    found = _DATE.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        raise refuse(line, f"{plain_text(text, 40)!r} is no date.") from None


def _zone(name: str) -> Zone:
    """Return the zone of a TZID; some programs put a path of their own before its name."""
    parts = name.strip().split("/")
    for begin in range(len(parts)):
        try:
            return find_zone("/".join(parts[begin:]))
        except UnknownZone:
            continue
    raise _NotRead(f"its time zone {plain_text(name, 60)!r} is not known")


def _default_zone(calendar: Component) -> Zone:
    item = calendar.first("X-WR-TIMEZONE")
    try:
        return _zone(item.value) if item else find_zone("UTC")
    except _NotRead:
        return find_zone("UTC")


def _instant(when: _When) -> datetime | None:
    if when.zone is None:
        return None
    wall = (when.local - _NAIVE_EPOCH) // _SECOND
    placed = place(when.zone, wall, LocalRules())
    return EPOCH + timedelta(seconds=placed[0]) if placed else None


def _in_zone(when: _When, zone: Zone) -> datetime:
    """Return a moment as local time of another zone; a floating or unplaceable one as it is."""
    instant = _instant(when)
    if instant is None or when.zone is zone:
        return when.local
    return instant.astimezone(zone.info).replace(tzinfo=None)


# --- the file ------------------------------------------------------------------------------


def _uid(event: Component) -> str:
    item = event.first("UID")
    return item.value if item else ""


def _overridden(events: list[Component], reach: _Range) -> dict[str, set[datetime]]:
    """Return, by UID, the instances that events of their own stand for."""
    starts = {_uid(e): e for e in events if e.first("RECURRENCE-ID") is None and _uid(e)}
    found: dict[str, set[datetime]] = {}
    for event in events:
        item, master = event.first("RECURRENCE-ID"), starts.get(_uid(event))
        if item is None or master is None:
            continue
        try:
            start, when = _start(master, reach), _moment(item, reach)
        except _NotRead:
            continue
        local = when.local if start.zone is None else _in_zone(when, start.zone)
        found.setdefault(_uid(event), set()).add(local)
    return found


def _refuse_too_many(found: Found) -> None:
    for what, items, most in (
        ("dates", found.dates, MAX_DATES),
        ("windows", found.windows, MAX_WINDOWS),
    ):
        if len(items) > most:
            text = f"The file holds more than {most} {what}."
            raise InvalidInput([FieldError("#/ical", "too_many", text)], text)
