"""Deadlines of runs and of steps: some seconds after the begin, or at a time of day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from tasks.definition import Definition
from tasks.limits import longest_run
from tasks.schedules import spec
from tasks.schedules.base import Spec

#: A week: the deadline of a run that gives none.
RUN_SECONDS = 7 * 24 * 3600
_DST = ("dst_gap", "dst_overlap")


def deadline_of_run(workflow: Definition, scheduled_for: datetime, began_at: datetime) -> datetime:
    """Return when what is open of a run will be cancelled.

    A time of day is the first such time after ``scheduled_for``, in its zone and by the rules of
    the schedule for clock changes. It does not hold for a run that begins after it.
    """
    target = workflow.target
    if target["deadline_seconds"] is not None:
        return began_at + timedelta(seconds=target["deadline_seconds"])
    latest = began_at + timedelta(seconds=min(RUN_SECONDS, longest_run()))
    at = time_of_day(target, workflow.schedule, scheduled_for)
    return min(at, latest) if at is not None and at > began_at else latest


def time_of_day(
    part: Mapping[str, Any], schedule: Mapping[str, Any], after: datetime
) -> datetime | None:
    """Return the first ``deadline_at`` of a workflow or a step after a moment; None without one."""
    if part["deadline_at"] is None:
        return None
    zone = part["deadline_timezone"] or schedule["timezone"]
    rules = tuple((key, schedule[key]) for key in _DST if key in schedule)
    found = _daily(part["deadline_at"], zone, rules).next_after(after)
    return None if found is None else found.at


@lru_cache(maxsize=256)
def _daily(at: str, zone: str, rules: tuple[tuple[str, str], ...]) -> Spec:
    hour, minute = at.split(":")
    expression = f"{int(minute)} {int(hour)} * * *"
    return spec.parse("RECURRING", {"cron_expression": expression, "timezone": zone, **dict(rules)})
