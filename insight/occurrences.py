"""The ledger of one task: every expected instant of a range, past and future, exactly once.

Decided instants come from rows and span rows, instants beyond the task's cursor from its schedule.
Between the last row and the cursor no instant is invented. A page continues where the last one
ended, at the same cost at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice, takewhile
from typing import Any, NoReturn
from uuid import UUID

from django.core.signing import BadSignature, Signer

from executions.choices import FINAL, Status
from insight.explain.evidence import end_of_pause, standing_pause_of
from insight.explain.schedule_checks import ON_TIME
from insight.explain.timetable import FIRST, LAST, Timetable, occurrence_at
from shared.exceptions import FieldError, InvalidInput
from shared.ids import first_id_at
from shared.instants import parse_instant
from shared.sql import rows
from tasks.choices import AS_MISSED, TENANT_SUSPENDED, OnResume, TaskStatus
from tasks.models import Task
from tasks.schedules.base import CALENDAR_EXCLUDED, MICROSECOND, Occurrence, Spec
from tasks.schedules.jitter import due_at, jitter_of

#: An instant that has no row yet.
EXPECTED = "EXPECTED"
STATUSES = (EXPECTED, *Status.values)
#: Its time has passed, and no scheduler has decided on it yet.
NOT_PREPARED = "not_prepared"
#: It started more than a second after it was due, or it will, because no scheduler ran then.
LATE = "late"
LATE_NO_SCHEDULER = "late_no_scheduler"
#: The longest range of one call.
MOST_DAYS = 366
#: The default range reaches this far before and after now; a range with one end is twice as long.
_AROUND = timedelta(hours=24)
_MILLISECOND = timedelta(milliseconds=1)
#: States of instants that do not run, or not yet: many equal ones become one line.
_NOT_RUN = frozenset({EXPECTED, Status.SKIPPED})
#: Instants that a page of lines reads.
_MOST_LOOKED_AT = 2_000
#: Rows that a span's stretch may hold besides: more than any horizon does.
_ROWS_IN_SPAN = 50
_REASON_IN_PAUSE: Mapping[str, str] = {
    OnResume.SKIP: "paused",
    OnResume.RUN_ONCE: "paused_coalesced",
    OnResume.REPLAY: "paused_replayed",
    AS_MISSED: TENANT_SUSPENDED,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One expected instant; one of ``count`` instants up to ``last`` when a span is one line.

    ``due_at`` is when it starts, None where it does not run.
    """

    at: datetime
    status: str
    reason: str = ""
    execution_id: UUID | None = None
    notes: tuple[str, ...] = ()
    last: datetime | None = None
    count: int = 1
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A range, both ends included, and where in it a page begins.

    ``left`` is how many instants ``max_occurrences`` leaves from ``start`` on, where a former
    page has counted that.
    """

    since: datetime
    until: datetime
    start: datetime
    left: int | None = None

    @property
    def begins(self) -> bool:
        """Whether this is the range's first page."""
        return self.start == self.since


@dataclass(frozen=True, slots=True)
class Page:
    """The entries of a page, oldest first, and where the next one begins."""

    entries: list[Entry]
    place: Place
    next_cursor: str | None


def place_of(
    task: Task,
    *,
    since: datetime | None,
    until: datetime | None,
    cursor: str | None,
    now: datetime,
) -> Place:
    """Return the requested range, by default 24 hours around now, and its page.

    Raise InvalidInput for a range that is too long or ends before it begins, and for a cursor
    that this list has not given.
    """
    if cursor is not None:
        return _read_cursor(task, cursor)
    if since is None and until is None:
        since, until = now - _AROUND, now + _AROUND
    begin = _bounded(since) if since else _bounded(until or now) - 2 * _AROUND
    end = _bounded(until) if until else begin + 2 * _AROUND
    if end < begin:
        _refuse("?to", "'to' lies before 'from'.")
    if end - begin > timedelta(days=MOST_DAYS):
        _refuse("?to", f"A range has at most {MOST_DAYS} days; ask in parts.")
    return Place(begin, end, begin)


def read_occurrences(
    task: Task, place: Place, limit: int, *, now: datetime, spans_as_lines: bool = False
) -> Page:
    """Return a page of the task's ledger; a span counts as its instants, or as one line."""
    timetable = Timetable(task)
    left = place.left
    if left is None or task.next_run_at is None or place.start < task.next_run_at:
        left = timetable.left_from(max(place.start, task.next_run_at or LAST), place.until)
    sources = [
        *_decided(timetable, place, limit + 1, spans_as_lines),
        _expected(timetable, place, left, now),
    ]
    found = list(islice(_once(merge(*sources, key=lambda entry: entry.at)), limit + 1))
    shown = found[:limit]
    if len(found) <= limit:
        return Page(shown, place, None)
    start = shown[-1].at + MICROSECOND
    if left is not None:
        cursor = task.next_run_at or LAST
        left -= sum(1 for entry in shown if entry.at >= cursor and _counts(timetable, entry))
    return Page(shown, place, _cursor(task, Place(place.since, place.until, start, left)))


def read_lines(task: Task, place: Place, limit: int, *, now: datetime) -> Page:
    """Return a page of the task's ledger in which equal instants that do not run are one line.

    One line is a span, or consecutive instants that are skipped, or expected, for one reason.
    """
    lines: list[Entry] = []
    page = read_occurrences(task, place, _MOST_LOOKED_AT, now=now, spans_as_lines=True)
    for entry in page.entries:
        if lines and _alike(lines[-1], entry):
            lines[-1] = _joined(lines[-1], entry)
        elif len(lines) == limit:
            return Page(lines, place, _cursor(task, Place(place.since, place.until, entry.at)))
        else:
            lines.append(entry)
    return Page(lines, place, page.next_cursor)


def _alike(before: Entry, after: Entry) -> bool:
    """Return whether two entries of instants that do not run have the same state and reason."""
    same = (before.status, before.reason, before.notes) == (after.status, after.reason, after.notes)
    return same and before.status in _NOT_RUN


def _joined(before: Entry, after: Entry) -> Entry:
    return replace(
        before,
        execution_id=None,
        last=after.last or after.at,
        count=before.count + after.count,
    )


def _decided(
    timetable: Timetable, place: Place, limit: int, spans_as_lines: bool
) -> list[Iterable[Entry]]:
    """Return the ledger's rows as sorted sources: the single rows, and each span."""
    asked: dict[str, Any] = {
        "task": timetable.task.pk,
        "low": first_id_at(place.start),
        "high": first_id_at(place.until + _MILLISECOND),
        "since": place.start,
        "until": place.until,
    }
    found = rows("occurrences/rows_between", {**asked, "limit": limit})
    single = [row for row in found if row[6] is None]
    spans = [row for row in found if row[6] is not None]
    if place.begins or not spans_as_lines:
        spans += rows("occurrences/spans_over", {**asked, "limit": _ROWS_IN_SPAN})
    sources: list[Iterable[Entry]] = [[_entry(timetable, row) for row in single]]
    for row in spans:
        sources.append([_line(row, place)] if spans_as_lines else _instants(timetable, row, place))
    return sources


def _entry(timetable: Timetable, row: Sequence[Any]) -> Entry:
    execution_id, at, status, reason, revision = row[:5]
    spec = timetable.of(revision)
    found = occurrence_at(spec, at)
    due = None if status == Status.SKIPPED else row[7]
    reason = reason or _lateness(timetable.task, spec, row)
    return Entry(at, status, reason, execution_id, found.notes if found else (), due_at=due)


def _lateness(task: Task, spec: Spec | None, row: Sequence[Any]) -> str:
    """Return the reason of an instant that starts or started late, '' for any other.

    The row of a retried execution no longer shows its first start.
    """
    at, status, turn, started, attempt, since, until = row[1], row[2], *row[7:12]
    if status == Status.SKIPPED or attempt > 1:
        return ""
    jitter = jitter_of(task.schedule)
    due = due_at(spec, at, str(task.pk), jitter) if spec and jitter else at
    in_outage = until is not None and since <= due < until
    if started is None:
        return LATE_NO_SCHEDULER if in_outage and status not in FINAL else ""
    if in_outage and started - due >= ON_TIME:
        return LATE_NO_SCHEDULER
    return LATE if started - turn >= ON_TIME else ""


def _line(row: Sequence[Any], place: Place) -> Entry:
    at, last = row[1], row[5]
    return Entry(max(at, place.since), row[2], row[3], last=min(last, place.until), count=row[6])


def _instants(timetable: Timetable, row: Sequence[Any], place: Place) -> Iterator[Entry]:
    """Yield the instants of a span from the page's beginning on, by the schedule that wrote it."""
    first, status, reason, revision, last = row[1], row[2], row[3], row[4], row[5]
    spec = timetable.of(revision)
    start, until = max(first, place.start), min(last, place.until)
    if spec is None:
        # The schedule is lost. Only the two ends of the skipped stretch are known.
        ends = sorted({first, last})
        yield from (Entry(at, status, reason) for at in ends if start <= at <= until)
        return
    for found in takewhile(lambda one: one.at <= until, spec.walk(start - MICROSECOND)):
        yield Entry(found.at, status, reason, notes=found.notes)


def _expected(
    timetable: Timetable, place: Place, left: int | None, now: datetime
) -> Iterator[Entry]:
    """Yield the instants from the task's cursor on, with the reason where one will not run."""
    task, spec = timetable.task, timetable.current
    live = task.status in (TaskStatus.SCHEDULED, TaskStatus.PAUSED)
    if task.next_run_at is None or spec is None or not live or place.until < task.next_run_at:
        return
    start = max(place.start, task.next_run_at) - MICROSECOND
    resumes_at = end_of_pause(task, standing_pause_of(task))
    ahead = takewhile(lambda found: found.at <= place.until, spec.walk(start))
    jitter = jitter_of(task.schedule)
    for found in islice(ahead, left):
        why_not = reason_not_to_run(task, found, resumes_at, now)
        runs = why_not in ("", NOT_PREPARED)
        due = due_at(spec, found.at, str(task.pk), jitter) if runs else None
        yield Entry(found.at, EXPECTED, why_not, notes=found.notes, due_at=due)


def reason_not_to_run(
    task: Task, found: Occurrence, resumes_at: datetime | None, now: datetime
) -> str:
    """Return why a coming instant will not run as it should; '' when it will."""
    at = found.at
    if found.excluded:
        return CALENDAR_EXCLUDED
    reason = _REASON_IN_PAUSE.get(task.on_resume, "paused")
    if task.status == TaskStatus.PAUSED:
        if at <= (resumes_at or now):
            return reason
        # Without a known end of the pause, all later instants are in it too.
        later = reason if reason == TENANT_SUSPENDED else "paused"
        return "" if resumes_at else later
    if task.resumed_at is not None and at <= task.resumed_at:
        return reason
    return NOT_PREPARED if at < now else ""


def _counts(timetable: Timetable, entry: Entry) -> bool:
    return entry.status == EXPECTED or occurrence_at(timetable.current, entry.at) is not None


def _once(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the first entry of each instant; earlier sources take precedence."""
    last: datetime | None = None
    for entry in entries:
        if entry.at != last or entry.last is not None:
            yield entry
        last = entry.at


def _bounded(moment: datetime) -> datetime:
    return min(max(moment, FIRST), LAST)


def _signer(task: Task) -> Signer:
    return Signer(salt=f"executions.occurrences:{task.pk}", sep=".")


def _cursor(task: Task, place: Place) -> str:
    moments = [moment.isoformat() for moment in (place.since, place.until, place.start)]
    return _signer(task).sign_object([*moments, place.left])


def _read_cursor(task: Task, cursor: str) -> Place:
    try:
        since, until, start, left = _signer(task).unsign_object(cursor)
        return Place(parse_instant(since), parse_instant(until), parse_instant(start), left)
    except (BadSignature, ValueError, TypeError):
        _refuse("?cursor", "This cursor was not given by this list.")


def _refuse(pointer: str, message: str) -> NoReturn:
    raise InvalidInput(
        [FieldError(pointer, "invalid", message)], "The query parameters are not valid."
    )
