"""What a run that began late waited for, as far as its row still shows."""

from __future__ import annotations

from datetime import datetime, timedelta

from insight.explain.answer import spell, told
from insight.explain.evidence import Situation
from insight.explain.reasons import REASONS
from insight.explain.schedule_checks import ON_TIME
from shared.process_sight import shown_worker
from tasks.choices import AS_MISSED
from tasks.schedules.jitter import jitter_of

_MADE_UP_FOR = {
    "misfire": "it caught up on an instant that was missed while no scheduler ran",
    "task_active": "it caught up on an instant that fell into a pause",
    "tenant_active": "it caught up on an instant that fell into a suspension of the tenant",
}


def why_late(found: Situation) -> str:
    """Return what a late first start waited for, as a clause; '' when it was on time.

    The row has the times of its latest attempt, so a retried execution shows only its reason.
    """
    row = found.row
    if row is None or row.started_at is None:
        return ""
    first = found.attempts[0].due_at if found.attempts else None
    due_at = first or row.due_at
    planned_late = _planned_late(found, due_at)
    if planned_late:
        return planned_late
    if found.scheduled and due_at - found.at >= ON_TIME and due_at - found.at > _jitter(found):
        return f"it had its turn at {told(due_at)}, when an earlier run had ended"
    if row.started_at - due_at < ON_TIME:
        return ""
    if row.created_at - due_at >= ON_TIME:
        return f"it was put into the ledger at {told(row.created_at)} only"
    if row.attempt > 1 or row.queued_at is None:
        return f"its first attempt began at {told(row.started_at)}"
    if row.queued_at - due_at >= ON_TIME:
        return _waited_in_ledger(found, f"from {told(due_at)} to {told(row.queued_at)}")
    handed = max(row.queued_at, due_at)
    return (
        f"its worker, {shown_worker(row.worker)}, had no slot free from {told(handed)} to "
        + told(row.started_at)
    )


def _planned_late(found: Situation, due_at: datetime) -> str:
    """Return that a scheduler caught up on it, or that none ran; '' for any other run."""
    reason = REASONS.get(found.reason)
    if found.scheduled and reason is not None and reason.check in _MADE_UP_FOR:
        missed = reason.check == "misfire" and found.outage is not None
        return _MADE_UP_FOR[reason.check] + (f", {stretch_of(found)}" if missed else "")
    if was_late_by_outage(found):
        return f"no scheduler ran {stretch_of(found)}{_its_turn(found, due_at)}"
    return ""


def was_late_by_outage(found: Situation) -> bool:
    """Return whether no scheduler ran when it was due, and it therefore started late."""
    started = found.first_start
    return (
        found.outage is not None and started is not None and started - found.first_due_at >= ON_TIME
    )


def stretch_of(found: Situation) -> str:
    """Return the stretch without a scheduler as words; '' where one ran."""
    outage = found.outage
    return f"from {told(outage.since)} to {told(outage.until)}" if outage else ""


def _its_turn(found: Situation, due_at: datetime) -> str:
    """Return how long it waited because a task's late executions do not start all at once."""
    outage = found.outage
    if outage is None or due_at - outage.until < ON_TIME:
        return ""
    return f", and it had its turn {spell(due_at - outage.until)} later, at the pace of its task"


def _jitter(found: Situation) -> timedelta:
    return timedelta(seconds=jitter_of(found.task.schedule))


def _waited_in_ledger(found: Situation, stretch: str) -> str:
    row, task = found.row, found.task
    resumed, queued = task.resumed_at, None if row is None else row.queued_at
    if row is not None and resumed and queued and row.due_at < resumed <= queued:
        what = "tenant was suspended" if task.on_resume == AS_MISSED else "task was paused"
        return f"its {what} until {told(resumed)}"
    free = task.schedule.get("overlap_policy", "allow") == "allow"
    if free and not task.schedule.get("max_concurrent"):
        return f"no worker had free capacity {stretch}"
    return f"earlier runs held its place, or no worker had free capacity, {stretch}"
