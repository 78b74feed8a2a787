"""The instants that a task's schedule expects, by the revision that was in force.

The ledger's API and Explain use it. A revision that cannot be read any more expects no instant.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.exceptions import FieldError, InvalidInput, PunctualError
from tasks.definition import schedule_defaults
from tasks.editing import spec_of
from tasks.models import Task, TaskRevision
from tasks.revisions import own_revisions
from tasks.schedules.base import MICROSECOND, Occurrence, Spec

log = logging.getLogger("executions.explain.timetable")

#: Schedules know no other time.
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(2200, 1, 1, tzinfo=UTC)
#: Widths of the searches back for an instant; each runs only when the one before found none.
_LOOKS_BACK = tuple(
    timedelta(minutes=minutes) for minutes in (1, 60, 1440, 11_520, 46_080, 527_040, 4_216_320)
)
#: How many chunks of ``Spec.count_chunk`` one question may count.
_MOST_CHUNKS = 50
#: Errors of a stored schedule that a rule of today cannot read.
UNREADABLE = (PunctualError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


class Timetable:
    """One task's schedules; each revision is read once at most."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._specs: dict[int | None, Spec | None] = {}

    @property
    def current(self) -> Spec | None:
        """The schedule in force, None when it cannot be read."""
        if None not in self._specs:
            self._specs[None] = self._read(self.task.type, self.task.schedule)
        return self._specs[None]

    def of(self, version: int) -> Spec | None:
        """Return the schedule of a version, None when there is none or it cannot be read."""
        if version == self.task.version:
            return self.current
        if version not in self._specs:
            found = TaskRevision.objects.filter(task_id=self.task.pk, version=version).first()
            self._specs[version] = None if found is None else self._of_revision(found)
        return self._specs[version]

    def altered(self, **changes: Any) -> Spec | None:
        """Return the schedule in force with some of its fields changed, if that can be read."""
        return self._read(self.task.type, {**self.task.schedule, **changes})

    def version_at(self, moment: datetime) -> tuple[int, datetime] | None:
        """Return the version in force at a moment and since when, None before the first one."""
        found = (
            own_revisions(self.task)
            .filter(created_at__lte=moment)
            .order_by("-version")
            .values_list("version", "created_at")
            .first()
        )
        return found or None

    def left_from(self, moment: datetime, until: datetime) -> int | None:
        """Return how many instants the task may have from a moment on, None: enough until then.

        ``max_occurrences`` counts from the task's cursor. Raise InvalidInput when counting up to
        the moment would take too long.
        """
        limit, cursor = self.task.schedule.get("max_occurrences"), self.task.next_run_at
        if limit is None or cursor is None or self.current is None:
            return None
        left = max(0, int(limit) - self.task.occurrence_count)
        # No schedule has more than one instant a second.
        if left > (until - cursor).total_seconds() + 1:
            return None
        after = cursor - MICROSECOND
        for _ in range(_MOST_CHUNKS):
            asked = min(left, self.current.count_chunk)
            count, last = self.current.count_between(after, moment - MICROSECOND, asked)
            left -= count
            if last is None or count < asked or left <= 0:
                return left
            after = last
        message = "Counting max_occurrences so far ahead takes too long; ask for a nearer time."
        raise InvalidInput([FieldError("?from", "too_far_ahead", message)], message)

    def _of_revision(self, revision: TaskRevision) -> Spec | None:
        stored = revision.definition
        if not isinstance(stored, dict) or not isinstance(stored.get("schedule"), dict):
            return None
        return self._read(str(stored.get("type", "")), stored["schedule"])

    def _read(self, task_type: str, schedule: Mapping[str, Any]) -> Spec | None:
        spec = self._parsed(task_type, schedule)
        if spec is None and schedule.get("calendars"):
            # A calendar of an older version may be gone; its policy kept every instant or moved it.
            spec = self._parsed(task_type, {**schedule, "calendars": []})
        return spec

    def _parsed(self, task_type: str, schedule: Mapping[str, Any]) -> Spec | None:
        try:
            return spec_of(
                Task(
                    id=self.task.pk,
                    tenant_id=self.task.tenant_id,
                    type=task_type,
                    schedule=schedule_defaults(task_type) | dict(schedule),
                    created_at=self.task.created_at,
                )
            )
        except UNREADABLE as error:
            log.warning(
                "schedule.not_shown",
                extra={
                    "task_id": str(self.task.pk),
                    "tenant_id": str(self.task.tenant_id),
                    "reason": type(error).__name__,
                },
            )
            return None


def occurrence_at(spec: Spec | None, moment: datetime) -> Occurrence | None:
    """Return the schedule's occurrence at exactly this moment, if there is one."""
    if spec is None or not FIRST < moment < LAST:
        return None
    found = spec.next_from(moment)
    return found if found is not None and found.at == moment else None


def next_after(spec: Spec | None, moment: datetime) -> datetime | None:
    """Return the first instant after a moment, if there is one."""
    if spec is None or moment >= LAST:
        return None
    found = spec.next_after(max(moment, FIRST))
    return found.at if found else None


def last_before(spec: Spec | None, moment: datetime) -> datetime | None:
    """Return the last instant before a moment, if there is one within the years before it."""
    if spec is None or moment <= FIRST:
        return None
    moment = min(moment, LAST)
    for width in _LOOKS_BACK:
        after = max(FIRST, moment - width)
        found: datetime | None = after
        last = None
        while found is not None:
            _, found = spec.count_between(found, moment - MICROSECOND, spec.count_chunk)
            last = found or last
        if last is not None or after == FIRST:
            return last
    return None
