"""Plan the next rows of the ledger for due tasks; computes, and writes nothing.

Materialize passes the tasks that it has locked. This module decides misfire, resume and jitter.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from executions.choices import Status
from executions.ownership.partitions import Unowned
from shared.conf import conf
from shared.exceptions import PunctualError
from shared.sql import json_value
from tasks.calendars import SpecOf, spec_reader
from tasks.choices import AS_MISSED, TENANT_SUSPENDED, TaskType
from tasks.schedules.base import CALENDAR_EXCLUDED
from tasks.schedules.jitter import due_at, jitter_of
from tasks.schedules.misfire import REPLAYED, Plan, plan
from tasks.schedules.spec import Spec

log = logging.getLogger("executions.engine.planning")

#: Now, the horizon, and the end of the outage in which the next instants came due, if in any.
_Until = tuple[datetime, datetime, datetime | None]

#: Bounds of one transaction: it must end long before its idle timeout, and dispatch must not wait.
_ROWS = 10_000
_SECONDS = 1.0
_POLICY_OF_RESUME = {"skip": "skip", "run_once": "coalesce", "replay": "replay"}
_REASON_OF_PAUSE = {
    "": "paused",
    "misfire_skipped": "paused",
    "misfire_coalesced": "paused_coalesced",
    "misfire_replayed": "paused_replayed",
    CALENDAR_EXCLUDED: CALENDAR_EXCLUDED,
}
#: Reasons of instants that run after a suspension; the others have the suspension's own reason.
_REASON_AFTER_SUSPENSION = {
    "": "suspended_replayed",
    "misfire_coalesced": "suspended_coalesced",
    "misfire_replayed": "suspended_replayed",
}
_REPLAYED = (REPLAYED, _REASON_OF_PAUSE[REPLAYED], _REASON_AFTER_SUSPENSION[REPLAYED])
_REPLAYED_PER_SECOND = 10
#: From the reason of a misfire, and whether its instant runs, to the reason of the row.
_ReasonOf = Callable[[str, bool], str]
_NEVER: Mapping[int, Unowned] = {}


class Reach(NamedTuple):
    """The reach of a pass: its first moment, and its number of tasks of each partition."""

    since: datetime
    each: int


# Made for every task: a frozen one takes three times as long.
@dataclass(slots=True)
class Due:
    """A locked task as the statement ``materialize/lock_due_tasks`` returns it."""

    id: UUID
    tenant_id: UUID
    type: str
    schedule: Any
    next_run_at: datetime
    occurrence_count: int
    created_at: datetime
    resumed_at: datetime | None
    on_resume: str
    replayed_until: datetime | None = None
    partition: int = 0
    #: The place of the locked cursor.
    place: str = ""


# Made for every task: a frozen one takes three times as long.
@dataclass(slots=True)
class Row:
    """A row of the ledger: an instant, or a span of skipped ones."""

    task: UUID
    at: datetime
    due: datetime
    status: str
    reason: str
    span_last: datetime | None = None
    span_count: int | None = None


# Made for every task: a frozen one takes three times as long.
@dataclass(slots=True)
class Planned:
    """The plan for one task: its rows, and where its cursor moves from and to."""

    task: UUID
    cursor: datetime
    next_run_at: datetime | None = None
    occurrences: int = 0
    rows: Sequence[Row] = ()
    readable: bool = True
    replayed_until: datetime | None = None
    one_time: bool = False
    place: str = ""


def first_due(planned: Iterable[Planned], other: datetime | None = None) -> datetime | None:
    """Return the first due time of the planned rows and of ``other``, None without any."""
    dues = [row.due for entry in planned for row in entry.rows if row.status == Status.PENDING]
    return min(dues if other is None else [*dues, other], default=None)


def plan_tasks(
    found: Sequence[Due],
    now: datetime,
    horizon: datetime,
    unowned: Mapping[int, Unowned] = _NEVER,
    spec_of: SpecOf | None = None,
) -> list[Planned]:
    """Return the plans of the first of these tasks, as many as one transaction should hold.

    Without ``spec_of`` the tasks' calendars are read, all at once. ``unowned`` maps a partition to
    the last time in which it had no scheduler.
    """
    schedules = [_schedule(task) for task in found]
    spec_of = spec_of or spec_reader(
        (task.tenant_id, schedule)
        for task, schedule in zip(found, schedules, strict=True)
        if schedule is not None
    )
    planned: list[Planned] = []
    size = 0
    deadline = time.monotonic() + _SECONDS
    for task, schedule in zip(found, schedules, strict=True):
        until = (now, horizon, _end_of_outage(task, unowned.get(task.partition)))
        planned.append(_plan_or_complain(task, schedule, until, spec_of))
        planned[-1].place = task.place
        size += len(planned[-1].rows)
        if size >= _ROWS or time.monotonic() > deadline:
            break
    return planned


def each_of_next(due: Sequence[Due], planned: int, each: int) -> int:
    """Return how many tasks of a partition the next pass takes, after one that took ``each``.

    As many as make a batch of the partitions that may have more; 0 where none has, or where
    planning was cut off.
    """
    full = sum(count >= each for count in Counter(task.partition for task in due).values())
    return conf().materialize_batch // full + 1 if full and planned == len(due) else 0


def _end_of_outage(task: Due, unowned: Unowned | None) -> datetime | None:
    """Return when the outage ended in which the task's next instants came due, if in any."""
    if unowned is None or max(task.next_run_at, task.created_at) >= unowned.until:
        return None
    return unowned.until


def _schedule(task: Due) -> Mapping[str, Any] | None:
    """Return the stored schedule, or None where it is no schedule at all."""
    try:
        value = json_value(task.schedule)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def _plan_or_complain(
    task: Due, schedule: Mapping[str, Any] | None, until: _Until, spec_of: SpecOf
) -> Planned:
    try:
        if schedule is None:
            raise TypeError("the stored schedule is no object")
        spec = spec_of(task.type, schedule, task.tenant_id, str(task.id), task.created_at)
        return _plan_task(task, schedule, spec, until)
    except (PunctualError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        # One unreadable schedule must not stop its partition: its task is paused, visibly.
        log.exception(
            "schedule.unreadable",
            extra={"task_id": str(task.id), "tenant_id": str(task.tenant_id)},
        )
        return Planned(task.id, task.next_run_at, readable=False)


def _plan_task(task: Due, schedule: Mapping[str, Any], spec: Spec, until: _Until) -> Planned:
    now, _, outage_end = until
    limit, jitter = schedule.get("max_occurrences"), jitter_of(schedule)
    question: dict[str, Any] = {
        "cursor": task.next_run_at,
        "limit": conf().occurrences_per_task,
        "remaining": None if limit is None else max(0, limit - task.occurrence_count),
        "coalesce": schedule.get("misfire_coalesce") or "latest",
        "replay_limit": schedule.get("misfire_replay_limit"),
        "caught_up": task.replayed_until == task.next_run_at,
    }
    terms, reason_of = _terms(task, schedule, spec, until)
    planned = plan(spec, **terms, **question)
    if reason_of is not None:
        planned = _renamed(planned, reason_of)
    replay = _Replay(schedule.get("misfire_replay_per_second"), task.replayed_until, now)
    found = _rows(task.id, spec, jitter, planned, (replay, outage_end, _waited_until(task)))
    return Planned(
        task.id,
        task.next_run_at,
        planned.next_run_at,
        planned.occurrences,
        found,
        # The next pass knows by its own cursor that the one run has been chosen.
        replayed_until=planned.next_run_at if planned.caught_up else replay.until,
        one_time=task.type == TaskType.ONE_TIME,
    )


def _terms(
    task: Due, schedule: Mapping[str, Any], spec: Spec, until: _Until
) -> tuple[dict[str, Any], _ReasonOf | None]:
    """Return how far to plan and by which policy, and the reasons where it is not the schedule's.

    Instants that fell into a pause are planned apart from later ones, by the choice made with the
    pause. A suspension of the tenant has no such choice, so the tasks' misfire policies decide.
    """
    misfire = {
        "policy": schedule.get("misfire_policy") or "coalesce",
        "grace_seconds": schedule.get("misfire_grace_seconds"),
    }
    if task.resumed_at is None or max(task.next_run_at, _waited_until(task)) > task.resumed_at:
        now, horizon, outage_end = until
        jitter = jitter_of(schedule)
        judged = {
            "now": now,
            "horizon": horizon,
            "missed_after_seconds": conf().missed_after_seconds,
            "unowned_until": outage_end,
            "due": lambda at: due_at(spec, at, str(task.id), jitter),
            "jitter_seconds": jitter,
        }
        return {**judged, **misfire}, None
    ended = {"now": task.resumed_at, "horizon": task.resumed_at, "missed_after_seconds": 0.0}
    if task.on_resume == AS_MISSED:
        return {**ended, **misfire}, _of_suspension
    policy = _POLICY_OF_RESUME[task.on_resume]
    return {**ended, "policy": policy, "grace_seconds": None}, _of_pause


def _waited_until(task: Due) -> datetime:
    """Return when a late one-time task waited no longer for others, else a past moment."""
    one_time = task.type == TaskType.ONE_TIME
    return task.replayed_until if one_time and task.replayed_until else task.next_run_at


def _renamed(planned: Plan, reason_of: _ReasonOf) -> Plan:
    """Return the plan with other reasons; ``reason_of`` also gets whether the instant runs."""
    return replace(
        planned,
        rows=[replace(row, reason=reason_of(row.reason, row.run)) for row in planned.rows],
        spans=[replace(span, reason=reason_of(span.reason, False)) for span in planned.spans],
    )


def _of_pause(reason: str, _runs: bool) -> str:
    return _REASON_OF_PAUSE[reason]


def _of_suspension(reason: str, runs: bool) -> str:
    if runs:
        return _REASON_AFTER_SUSPENSION[reason]
    return reason if reason == CALENDAR_EXCLUDED else TENANT_SUSPENDED


class _Replay:
    """Spaces the due times of replayed instants, from the last one of an earlier pass on."""

    def __init__(self, per_second: float | None, until: datetime | None, now: datetime) -> None:
        self._step = timedelta(seconds=1 / (per_second or _REPLAYED_PER_SECOND))
        self._now = now
        self._last = until
        #: The last due time that is still to come; None without a replay.
        self.until = until if until is not None and until > now else None

    def next_due(self) -> datetime:
        """Return when the next instant is due; the first one is due at once."""
        due = self._now if self._last is None else max(self._now, self._last + self._step)
        self.until = self._last = due
        return due

    def next_late(self, due: datetime) -> datetime:
        """Return the due time of an instant that an outage made late: at once for the first."""
        if self._last is None or self._last + self._step <= self._now:
            self._last = self._now
            return due
        return self.next_due()


#: The pace of a replay, the end of an outage, and when a one-time task waited no longer for others.
_Pace = tuple[_Replay, datetime | None, datetime]


def _rows(task: UUID, spec: Spec, jitter: float, planned: Plan, pace: _Pace) -> list[Row]:
    replay, outage_end, waited_until = pace
    found = []
    for row in planned.rows:
        due = row.at
        if row.run and row.reason in _REPLAYED:
            due = replay.next_due()
        elif row.run:
            due = due_at(spec, row.at, str(task), jitter)
            due = max(due, waited_until)
            if outage_end is not None and due < outage_end:
                due = replay.next_late(due)
        status = Status.PENDING if row.run else Status.SKIPPED
        found.append(Row(task, row.at, due, status, row.reason))
    return found + [
        Row(task, span.first, span.first, Status.SKIPPED, span.reason, span.last, span.count)
        for span in planned.spans
    ]
