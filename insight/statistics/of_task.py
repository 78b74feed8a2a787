"""The past work of one task: its success, its durations and start delays over time, its failures.

A task may have millions of executions, so only the newest 5,000 of a window are read: where there
are more, the answer begins later than asked and says so. The time from its beginning to now is
divided into at most 31 parts of equal, round length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from executions.choices import Status
from executions.ledger.tenant_retention import days_of
from executions.loop.clocks import database_now
from shared.ids import first_id_at, moment_of
from shared.sql import rows
from tasks.models import Task

#: Name of a window -> its length; the history may be shorter.
WINDOWS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
DEFAULT_WINDOW = "7d"
#: Executions that one answer counts.
MOST_ROWS = 5_000
#: Causes that an answer names, the most frequent first.
MOST_CAUSES = 20
_MOST_PARTS = 30
#: Lengths of a part in seconds; of each the first is taken that makes few enough parts.
_LENGTHS = (1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86_400)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BY_PART, _BY_STATE, _IN_ALL = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The 50th and 95th percentile in milliseconds, values that occurred; None without any."""

    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Executions that ended within a stretch; ``ended`` counts skipped and cancelled ones, too."""

    ended: int = 0
    succeeded: int = 0
    failed: int = 0
    start_delay_ms: Percentiles = Percentiles()
    duration_ms: Percentiles = Percentiles()

    @property
    def success_share(self) -> float | None:
        """Return the successes among successes and failures, 0 to 1; None without any."""
        judged = self.succeeded + self.failed
        return self.succeeded / judged if judged else None


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the time, from ``start`` on."""

    start: datetime
    figures: Figures


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures of one error code and HTTP status, and the latest of them."""

    error_code: str
    response_status: int | None
    count: int
    last_id: UUID

    @property
    def last_at(self) -> datetime:
        """Return the time by which lists have the latest of them."""
        return moment_of(self.last_id)


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """What a task did from ``since`` until ``until``.

    Not ``complete``: more than 5,000 executions ended within the window, and ``since`` is that of
    the oldest of the newest 5,000. ``window_from`` is where the window begins.
    """

    window: str
    window_from: datetime
    since: datetime
    until: datetime
    complete: bool
    part_seconds: int
    total: Figures
    parts: Sequence[Part]
    causes: Sequence[Cause] = field(default=())


def history_of(
    task: Task, window: str = DEFAULT_WINDOW, now: datetime | None = None
) -> TaskHistory:
    """Return the history of a window, by the time in the ids: the nominal time of scheduled runs.

    Raises KeyError for an unknown window.
    """
    until = now or database_now()
    begun = until - min(WINDOWS[window], timedelta(days=days_of(task.tenant_id)))
    asked = {"task": task.pk, "tenant": task.tenant_id, "low": first_id_at(begun)}
    reach = rows("task_reads/reach", {**asked, "most": MOST_ROWS})
    since = moment_of(reach[0][0]) if reach else begun
    length = _length(until - since)
    starts = _starts(since, until, length)
    bounds = [first_id_at(start) for start in starts]
    low = reach[0][0] if reach else asked["low"]
    found = rows("task_reads/history", {**asked, "low": low, "bounds": bounds})
    by_part = {row[1]: _figures(row) for row in found if row[0] == _BY_PART}
    total = [_figures(row) for row in found if row[0] == _IN_ALL]
    return TaskHistory(
        window=window,
        window_from=begun,
        since=since,
        until=until,
        complete=not reach,
        part_seconds=length,
        total=total[0],
        parts=[Part(at, by_part.get(n, Figures())) for n, at in enumerate(starts, start=1)],
        causes=_causes(found),
    )


def _length(span: timedelta) -> int:
    """Return the seconds of a part: the shortest round length that makes at most 30 parts."""
    seconds = span.total_seconds()
    return next((one for one in _LENGTHS if seconds / one <= _MOST_PARTS), _LENGTHS[-1])


def _starts(since: datetime, until: datetime, length: int) -> list[datetime]:
    """Return the starts of the parts, at multiples of their length since 1970 in UTC."""
    step = timedelta(seconds=length)
    first = since - (since - _EPOCH) % step
    return [first + number * step for number in range((until - first) // step + 1)]


def _figures(row: Sequence[Any]) -> Figures:
    ended, succeeded, failed, delays, durations = row[5:10]
    return Figures(ended, succeeded, failed, _percentiles(delays), _percentiles(durations))


def _percentiles(pair: Sequence[float | None] | None) -> Percentiles:
    return Percentiles(*(None if one is None else round(one, 3) for one in pair or (None, None)))


def _causes(found: Sequence[Sequence[Any]]) -> list[Cause]:
    failed = [row for row in found if row[0] == _BY_STATE and row[2] == Status.FAILED]
    return [Cause(row[3], row[4], row[5], UUID(row[10])) for row in failed[:MOST_CAUSES]]
