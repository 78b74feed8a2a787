"""The repetitions that the events of one UID give together: their starts and lengths.

``recurring_ical_events`` follows rules, additional dates and replaced instances. It gets local
times without a zone, since it adds up durations in local time, which is an hour wrong on the night
that the clocks change. Each rule is counted first, since the library collects all instances of a
rule before it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

import icalendar
import recurring_ical_events
from icalendar.prop import vRecur

from tasks.ical.events import Event
from tasks.ical.placing import FIRST, LAST, local_of
from tasks.ical.rules import day_end, follow, read_rule
from tasks.ical.values import Length, Moment, NotRead, Property, in_zone_of

_UID = "series"


@dataclass(frozen=True, slots=True)
class Reach:
    """The days between which repetitions are followed, and the most that one rule may give."""

    first: date
    last: date
    most: int

    def __str__(self) -> str:
        """Return the years, for a report."""
        return f"between {self.first.year} and {self.last.year}"


@dataclass(frozen=True, slots=True)
class Instance:
    """One repetition: its start and its length."""

    start: Moment
    length: Length


def instances(master: Event, replacing: Sequence[Event], reach: Reach) -> list[Instance]:
    """Return the instances of an event that no other event replaces; raise NotRead.

    ``replacing`` are the events with its UID that take the place of one instance, or of one and
    all later ones.
    """
    if not master.repeats and not replacing:
        return [Instance(master.start, master.length)]
    if any(one.and_later and one.start.is_day != master.start.is_day for one in replacing):
        raise NotRead("an event that replaces its later ones turns times into days, or the reverse")
    rules = [rule for item in master.rules if (rule := _rule(item, master, reach))]
    for item in master.except_rules:
        master.less |= set(_starts(_rule(item, master, reach), master, reach))
    by_id = {_value(master, one.replaces): one for one in replacing if one.replaces}
    calendar = _calendar(master, rules, by_id)
    lengths = {local: length for local, length in master.more if length is not None}
    found = [
        Instance(Moment(local, master.start.zone), lengths.get(original) or event.length)
        for event, local, original in _followed(calendar, master, by_id, _span(rules, reach))
    ]
    if not found and not replacing:
        raise NotRead(f"it has no day or time {reach}")
    return found


def _followed(
    calendar: icalendar.Calendar,
    master: Event,
    by_id: dict[date, Event],
    span: tuple[datetime, datetime],
) -> Iterator[tuple[Event, datetime, datetime]]:
    """Yield the event of each instance, its local start, and the start that its rule gives."""
    for series in recurring_ical_events.of(calendar).series:
        for one in series.between(*span):
            local = _as_time(one.start)
            if not one.recurrence_ids:
                yield master, local, local
                continue
            since = one.recurrence_ids[0]
            event = by_id[since.date() if master.start.is_day else since]
            own = in_zone_of(event.start, master.start)
            # The event's own instance is read from the event itself.
            if event.and_later and not event.cancelled and local != own:
                yield event, local, local - (own - since)


def _rule(item: Property, master: Event, reach: Reach) -> str:
    """Return a rule in local time; raise NotRead where it gives too much."""
    rule = read_rule(item, lambda until: _localized(until, master.start))
    if not rule:
        master.notes.append(f"its {item.name} (line {item.line}) is empty and was passed over")
    for count, _ in enumerate(_starts(rule, master, reach), 1):
        if count > reach.most:
            raise NotRead(f"it repeats more than {reach.most} times {reach}")
    return rule


def _starts(rule: str, master: Event, reach: Reach) -> Iterator[datetime]:
    if not rule:
        return
    first, last = datetime.combine(reach.first, time()), day_end(reach.last)
    for local in follow(rule, master.start.local, last):
        if local >= first:
            yield local


def _span(rules: Sequence[str], reach: Reach) -> tuple[datetime, datetime]:
    """Return the span to search for instances: listed dates count like single events."""
    first, last = (reach.first, reach.last) if rules else (FIRST.date(), LAST.date())
    return datetime.combine(first, time()), datetime.combine(last, time()) + timedelta(days=1)


def _calendar(master: Event, rules: Sequence[str], by_id: dict[date, Event]) -> icalendar.Calendar:
    calendar, event = icalendar.Calendar(), icalendar.Event()
    calendar.add_component(event)
    event.add("UID", _UID)
    event.add("DTSTART", _value(master, master.start))
    for rule in rules:
        event.add("RRULE", vRecur.from_ical(rule))
    if master.more:
        event.add("RDATE", [_typed(master, local) for local, _ in master.more])
    if master.less:
        event.add("EXDATE", [_typed(master, local) for local in sorted(master.less)])
    for since, one in by_id.items():
        part = icalendar.Event()
        part.add("UID", _UID)
        part.add("DTSTART", _value(master, one.start))
        parameters = {"RANGE": "THISANDFUTURE"} if one.and_later else {}
        part.add("RECURRENCE-ID", since, parameters=parameters)
        calendar.add_component(part)
    return calendar


def _value(master: Event, moment: Moment) -> date:
    return _typed(master, in_zone_of(moment, master.start))


def _typed(master: Event, local: datetime) -> date:
    return local.date() if master.start.is_day else local


def _as_time(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _localized(until: date, start: Moment) -> datetime:
    if start.zone is None:
        return datetime.combine(until, time())
    if not isinstance(until, datetime):
        return day_end(until)
    return until if until.tzinfo is None else local_of(start.zone, until)
