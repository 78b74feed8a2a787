"""The interface of every kind of schedule: which instants come after a given one.

The kinds (`once`, `cron`, `interval`) implement :class:`Spec`; `spec` makes one from the API's
form. Pure: takes and returns aware datetimes, answers in UTC, knows no model and no clock.
Instants are whole milliseconds, strictly increasing and never repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Literal, Self

from shared.exceptions import InvalidInput
from tasks.schedules.zones import EPOCH, Zone

#: Replaces a local time that the clocks jumped over.
DST_GAP = "dst_gap"
#: Its local time occurs twice that day.
DST_OVERLAP = "dst_overlap"
#: A calendar excludes it: it is expected, and does not run.
CALENDAR_EXCLUDED = "calendar_excluded"
#: A calendar has moved it here from another day.
CALENDAR_ROLLED = "calendar_rolled"

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)


class ScheduleError(InvalidInput):
    """The schedule is not valid."""

    code = "schedule_invalid"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One instant (UTC) at which a task is expected, with notes for people.

    ``excluded`` names the calendar that keeps it from running: it is expected and accounted for,
    but does not run.
    """

    at: datetime
    notes: tuple[str, ...] = ()
    excluded: str = ""


class Spec(ABC):
    """A validated schedule."""

    kind: Literal["once", "cron", "interval", "never"]
    zone: Zone
    #: How many instants :meth:`count_between` may count in one call at a bounded cost.
    count_chunk: int = 20_000
    #: Whether an occurrence may be excluded; only where none can, a count is the number of runs.
    may_exclude: bool = False
    #: The first and the last moment at which it may run; None: no bound.
    bounds: tuple[datetime | None, datetime | None] = (None, None)

    @property
    @abstractmethod
    def text(self) -> str:
        """Return the schedule in plain words."""

    @abstractmethod
    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield every occurrence strictly after a moment, oldest first."""

    def walk_open(self, after: datetime, until: datetime | None = None) -> Iterator[Occurrence]:
        """Yield every occurrence in (after, until] that is not excluded, oldest first.

        A caller must give `until` where every occurrence may be excluded. A schedule that can jump
        over an excluded stretch should do so.
        """
        inside = self.walk(after)
        if until is not None:
            inside = takewhile(lambda occurrence: occurrence.at <= until, inside)
        return (occurrence for occurrence in inside if not occurrence.excluded)

    def wall_of(self, occurrence: Occurrence) -> int:
        """Return the local time that an occurrence represents, in wall-clock seconds since 1970."""
        second = (occurrence.at - EPOCH) // SECOND
        return second + self.zone.segment_at(second).offset

    def in_zone(self, zone: Zone) -> Self:
        """Return the same schedule under other rules of its zone."""
        made = copy(self)
        made.zone = zone
        return made

    def next_after(self, moment: datetime) -> Occurrence | None:
        """Return the first occurrence strictly after a moment; None when there is none."""
        return next(self.walk(moment), None)

    def next_from(self, moment: datetime) -> Occurrence | None:
        """Return the first occurrence at a moment or after it; None when there is none."""
        return self.next_after(moment - MICROSECOND)

    def between(self, after: datetime, until: datetime, limit: int) -> list[Occurrence]:
        """Return the first occurrences in (after, until], oldest first, at most `limit`."""
        inside = takewhile(lambda occurrence: occurrence.at <= until, self.walk(after))
        return list(islice(inside, limit))

    def count_between(
        self, after: datetime, until: datetime, limit: int
    ) -> tuple[int, datetime | None]:
        """Count the first occurrences in (after, until], at most `limit`; return the last, too."""
        found = self.between(after, until, limit)
        return len(found), found[-1].at if found else None
