"""What every kind of schedule answers: which instants come after this one.

The kinds (`once`, `cron`, `interval`) implement :class:`Spec`; `spec` makes one from the API's
form. Pure: takes and returns aware datetimes, answers in UTC, knows no model and no clock.
Instants are whole milliseconds, strictly increasing and never repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Literal

from shared.exceptions import InvalidInput
from tasks.schedules.zones import Zone

#: Stands in for a local time that the clocks jumped over.
DST_GAP = "dst_gap"
#: Its local time comes twice that day.
DST_OVERLAP = "dst_overlap"

MICROSECOND = timedelta(microseconds=1)


class ScheduleError(InvalidInput):
    """The schedule is not valid."""

    code = "schedule_invalid"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One instant (UTC) at which a task is expected, with notes for people."""

    at: datetime
    notes: tuple[str, ...] = ()


class Spec(ABC):
    """A validated schedule."""

    kind: Literal["once", "cron", "interval"]
    zone: Zone
    #: How many instants :meth:`count_between` may count in one call at a bounded cost.
    count_chunk: int = 20_000

    @property
    @abstractmethod
    def text(self) -> str:
        """Say the schedule in plain words."""

    @abstractmethod
    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield every occurrence strictly after a moment, oldest first."""

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
        """Count the first occurrences in (after, until], at most `limit`; with the last of them."""
        found = self.between(after, until, limit)
        return len(found), found[-1].at if found else None
