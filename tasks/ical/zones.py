"""The time zones of an iCalendar file: by its own rules, or from the pinned database.

The description of a zone in the file counts, not the zone's name: `EST` may have summer time
there. The database takes its place only where it has a zone of that name with the same offsets,
since it knows best when they change.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import pairwise

from icalendar.prop import vUTCOffset
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from tasks.ical.lines import Component, plain_text
from tasks.ical.placing import LAST, SECOND
from tasks.ical.rules import day_end, follow, read_rule
from tasks.ical.values import NotRead, Property, read_moment, read_moments, read_property
from tasks.schedules.zones import EPOCH, UnknownZone, Zone, all_names, find_zone

_SHOWN = 60
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_NAIVE_LAST = LAST.replace(tzinfo=None)
#: More changes of a zone than any rule of two a year gives.
_MOST_CHANGES = 2_000
_WINDOWS = {name.casefold(): zone for name, zone in WINDOWS_TO_OLSON.items()}


class FileZone(Zone):
    """A zone that a file describes; it has offsets, and no entry in the database."""

    def __init__(self, name: str, changes: list[tuple[int, int]]) -> None:
        self.name = name
        self._starts = [0, *(start for start, _ in changes[1:])]
        self._offsets = [offset for _, offset in changes]


class FileZones:
    """Finds the zones of one calendar by their ids."""

    def __init__(self, described: list[Component], years: tuple[int, int], default: str) -> None:
        self._described: dict[str, Component] = {}
        for component in described:
            line = component.first("TZID")
            if line is not None:
                self._described.setdefault(_key(read_property(line).value), component)
        self._years = years
        self._default = default
        self._found: dict[str, Zone | str] = {}
        #: Whether a floating time was read as UTC, because the file names no zone.
        self.assumed_utc = False

    def find(self, tzid: str) -> Zone:
        """Return the zone of an id, or of floating times for none; raise NotRead."""
        if not tzid:
            if not self._default:
                self.assumed_utc = True
                return find_zone("UTC")
            tzid = self._default
        key = _key(tzid)
        if key not in self._found:
            self._found[key] = self._look_up(tzid, key)
        found = self._found[key]
        if isinstance(found, str):
            raise NotRead(found)
        return found

    def _look_up(self, tzid: str, key: str) -> Zone | str:
        known = named_zone(tzid)
        component = self._described.get(key)
        shown = repr(plain_text(tzid, _SHOWN))
        if component is None:
            return known or f"its time zone {shown} is not known"
        try:
            described = FileZone(tzid[:_SHOWN], _changes(component))
        except NotRead as problem:
            where = f"its time zone {shown} (line {component.number}) cannot be read: {problem}"
            return known or where
        if known is not None and _offsets(known, self._years) == _offsets(described, self._years):
            return known
        return described


def named_zone(tzid: str) -> Zone | None:
    """Return the database's zone of an IANA name, also at the end of a path, or a Windows name."""
    parts = tzid.strip().strip("/").split("/")
    for begin in range(len(parts)):
        name = "/".join(parts[begin:])
        for spelled in (name, _spellings().get(name.replace(" ", "_").casefold(), "")):
            try:
                return find_zone(spelled)
            except UnknownZone:
                continue
    windows = _WINDOWS.get(tzid.strip().casefold())
    return find_zone(windows) if windows else None


def _spellings() -> dict[str, str]:
    if not _SPELLINGS:
        _SPELLINGS.update({name.casefold(): name for name in all_names()})
    return _SPELLINGS


_SPELLINGS: dict[str, str] = {}


def _key(tzid: str) -> str:
    return tzid.strip().strip('"').casefold()


def _offsets(zone: Zone, years: tuple[int, int]) -> set[int]:
    low, high = (
        int((datetime(year, 1, 1, tzinfo=EPOCH.tzinfo) - EPOCH) / SECOND)
        for year in (years[0], years[1] + 1)
    )
    return {offset for _, offset in zone.changes_between(low, high)}


# --- VTIMEZONE -----------------------------------------------------------------------------


def _changes(component: Component) -> list[tuple[int, int]]:
    """Return the seconds since 1970 at which each offset begins; raise NotRead."""
    if component.problem:
        raise NotRead(component.problem)
    found: list[tuple[datetime, int, int]] = []
    for part in component.parts:
        if part.problem:
            raise NotRead(part.problem)
        found += _onsets(part)
    if not found:
        raise NotRead("it has no STANDARD and no DAYLIGHT")
    found.sort()
    first, last = _NAIVE_EPOCH, _NAIVE_LAST
    changes = [(first, found[0][1])]
    for at, _, offset in found:
        if at <= first:
            changes[0] = (first, offset)
        elif at < last and at > changes[-1][0]:
            changes.append((at, offset))
        elif at == changes[-1][0]:
            changes[-1] = (at, offset)
    kept = [changes[0]]
    kept += [later for before, later in pairwise(changes) if later[1] != before[1]]
    return [((at - first) // SECOND, offset) for at, offset in kept]


def _onsets(part: Component) -> list[tuple[datetime, int, int]]:
    """Return when a rule of a zone begins to hold, in UTC, the offset before and then."""
    line = part.first("DTSTART")
    if line is None:
        raise NotRead(f"its {part.name} (line {part.number}) has no DTSTART")
    before, then = _offset(part, "TZOFFSETFROM"), _offset(part, "TZOFFSETTO")
    start = read_moment(_untimed(read_property(line)), _local).local
    locals_ = {start}
    for line in part.all("RRULE"):
        rule = read_rule(read_property(line), _until(before))
        if rule:
            locals_ |= _followed(rule, start)
    for line in part.all("RDATE"):
        item = _untimed(read_property(line))
        locals_ |= {moment.local for moment, _ in read_moments(item, _local)}
    shift = timedelta(seconds=before)
    seconds = (before, then)
    try:
        return [(local - shift, *seconds) for local in locals_]
    except OverflowError:
        raise NotRead(f"its {part.name} (line {part.number}) begins before all time") from None


def _followed(rule: str, start: datetime) -> set[datetime]:
    found = set()
    for local in follow(rule, start, _NAIVE_LAST):
        found.add(local)
        if len(found) > _MOST_CHANGES:
            raise NotRead("it changes its clocks too often")
    return found


def _until(offset: int) -> Callable[[date], datetime]:
    def localize(until: date) -> datetime:
        if not isinstance(until, datetime):
            return day_end(until)
        if until.tzinfo is None:
            return until
        return (until + timedelta(seconds=offset)).replace(tzinfo=None)

    return localize


def _offset(part: Component, name: str) -> int:
    line = part.first(name)
    if line is None:
        raise NotRead(f"its {part.name} (line {part.number}) has no {name}")
    item = read_property(line)
    try:
        offset = vUTCOffset.from_ical(item.value.replace(":", ""))
    except ValueError:
        raise item.wrong(f"is no offset: {plain_text(item.value, _SHOWN)!r}") from None
    return int(offset / SECOND)


def _untimed(item: Property) -> Property:
    """Return a property of a zone's rule as local time, without the zone that it names."""
    return Property(item.line, item.name, {}, item.value.upper().rstrip("Z"))


def _local(_: str) -> Zone:
    return find_zone("UTC")
