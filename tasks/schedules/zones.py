"""IANA time zones as lists of stretches with a constant offset, in whole seconds since 1970 (UTC).

The only access to zone data: names come from the pinned tzdata package, never from the system.
Zone arithmetic on plain integers keeps the cron maths fast and free of surprises.
"""

from __future__ import annotations

import difflib
import zoneinfo
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import metadata
from typing import NamedTuple, Self

# One zone database everywhere: the pinned tzdata package, never the system's copy.
zoneinfo.reset_tzpath(())

# Read at the start: an upgrade on disk does not change the data that a process has loaded.
_RELEASE = metadata.version("tzdata")

_SECOND = timedelta(seconds=1)
_NO_OFFSET = timedelta()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The calendar covers 1970 to 2199.
LAST_SECOND = (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // _SECOND - 1

# The nearest two changes of offset since 1970 are 6.96 days apart (Gaza 2040, tzdata 2026f), so
# probing every four days sees each of them.
_PROBE_SECONDS = 4 * 86_400
#: Longer than any name; keeps the comparison of a long text cheap.
_LONGEST_NAME = 64


class UnknownZone(ValueError):
    """The name is not one of the IANA time zones."""


class Segment(NamedTuple):
    """The seconds [start, end) with one offset, and the offsets on either side."""

    start: int
    end: int
    offset: int
    before: int
    after: int


class Zone:
    """One time zone; the same object for the same name."""

    __slots__ = ("_offsets", "_starts", "info", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.info = zoneinfo.ZoneInfo.no_cache(name)
        self._starts, self._offsets = _changes(self.info, 0, LAST_SECOND + 1)

    @classmethod
    def with_changes(cls, name: str, changes: Sequence[tuple[int, int]]) -> Self:
        """Return a zone from what :meth:`changes_between` returned, perhaps of another release.

        It is valid only within that range; names of offsets are today's.
        """
        made = cls.__new__(cls)
        made.name = name
        made.info = zoneinfo.ZoneInfo(name)
        made._starts = [0, *(start for start, _ in changes[1:])]
        made._offsets = [offset for _, offset in changes]
        return made

    def changes_between(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the second at which each offset of [low, high) begins, and that offset.

        The first of them begins at `low`.
        """
        found, second = [], low
        while second < high:
            segment = self.segment_at(second)
            found.append((second, segment.offset))
            second = segment.end
        return found

    def segment_at(self, second: int) -> Segment:
        """Return the stretch of constant offset that holds a second of 1970 to 2199."""
        starts, offsets = self._starts, self._offsets
        index = bisect_right(starts, second) - 1
        last = index + 1 == len(starts)
        offset = offsets[index]
        return Segment(
            start=starts[index],
            end=LAST_SECOND + 1 if last else starts[index + 1],
            offset=offset,
            before=offsets[index - 1] if index else offset,
            after=offset if last else offsets[index + 1],
        )


def release() -> str:
    """Return the release of the zone database that this process runs on, such as '2026.6'."""
    return _RELEASE


def find_zone(name: object) -> Zone:
    """Return the zone of an IANA name; raise UnknownZone with a suggestion for anything else."""
    if isinstance(name, str) and name in _names():
        return _load(name)
    raise UnknownZone(_advice(name))


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Return the names to offer to a person: UTC and the places, without old spellings."""
    places = (name for name in _names() if "/" in name and not name.startswith("Etc/"))
    return ("UTC", *sorted(places))


@lru_cache(maxsize=1)
def all_names() -> tuple[str, ...]:
    """Return every name that a task may have, old spellings too."""
    return tuple(sorted(_names()))


@lru_cache(maxsize=1024)
def _load(name: str) -> Zone:
    return Zone(name)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    # "Factory" is the placeholder of a machine without a zone.
    return frozenset(zoneinfo.available_timezones()) - {"Factory"}


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    cities = {name.rpartition("/")[2].lower(): name for name in sorted(_names(), reverse=True)}
    return cities | {name.lower(): name for name in _names()}


def _advice(name: object) -> str:
    if not isinstance(name, str):
        return "The time zone must be a string with an IANA name such as 'Europe/Berlin'."
    written = name.strip().replace(" ", "_").lower()[:_LONGEST_NAME]
    near = difflib.get_close_matches(written, _spellings(), 1, 0.8)
    nearest = _spellings().get(near[0]) if near else None
    if nearest:
        return f"There is no such IANA time zone. Did you mean '{nearest}'?"
    return "There is no such IANA time zone. Use a name such as 'Europe/Berlin' or 'UTC'."


def changes_of(name: str, low: int, high: int) -> list[tuple[int, int]]:
    """Return :meth:`Zone.changes_between` of the installed zone; reads only that range."""
    return list(zip(*_changes(zoneinfo.ZoneInfo(name), low, high), strict=True))


def _changes(info: zoneinfo.ZoneInfo, low: int, high: int) -> tuple[list[int], list[int]]:
    # fromutc takes a UTC time that bears the zone's name; it is twice as fast as fromtimestamp,
    # which counts in 21,000 probes.
    begin = datetime(1970, 1, 1, tzinfo=info)
    known = info.fromutc(begin + low * _SECOND).utcoffset() or _NO_OFFSET
    starts, offsets = [low], [known // _SECOND]
    for second in (*range(low + _PROBE_SECONDS, high - 1, _PROBE_SECONDS), high - 1):
        offset = info.fromutc(begin + second * _SECOND).utcoffset() or _NO_OFFSET
        if offset != known:
            known = offset
            starts.append(_first_second_with(info, offset, second))
            offsets.append(offset // _SECOND)
    return starts, offsets


def _first_second_with(info: zoneinfo.ZoneInfo, offset: timedelta, second: int) -> int:
    low, high = second - _PROBE_SECONDS, second
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, info).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return high
