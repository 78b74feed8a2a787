"""Explain: the checklist of one execution or instant, with a verdict and an estimate.

The API, the console and the command call it. It reads, changes nothing, and answers in every
state of the data, also when rows are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from executions.bulk.backfill_steps import KIND, execution_of
from executions.choices import OPEN, Status
from executions.models import BulkJob, Execution
from insight.explain.answer import Check, Explanation, capitalised, spell, told
from insight.explain.checks import run_checks
from insight.explain.estimates import error_of, is_by_due_time, why_none
from insight.explain.evidence import Situation
from insight.explain.lateness import why_late
from insight.explain.timetable import FIRST, LAST, Timetable, occurrence_at
from insight.occurrences import Place, read_occurrences
from shared.exceptions import NotFound
from shared.ids import execution_id, first_id_at
from shared.sql import rows
from tasks.choices import OnResume, TaskStatus
from tasks.models import Task
from tasks.schedules.base import MICROSECOND

_MILLISECOND = timedelta(milliseconds=1)
_MINUTE = timedelta(minutes=1)
_SPANS_LOOKED_AT = 50
_JOBS_LOOKED_AT = 50
_LEADS = {
    "waits": "It waits",
    "will_not_run": "It will not run",
    "did_not_run": "It did not run",
    "not_expected": "It is not expected",
}


def explain_execution(execution: Execution, now: datetime) -> Explanation:
    """Explain one execution; ``now`` is the database's time. Raise NotFound without its task."""
    task = Task.objects.filter(pk=execution.task_id).first()
    if task is None:
        raise NotFound("The task of this execution is gone.")
    at = execution.scheduled_for
    return _explain(Situation(task, at, now, execution), at)


def explain_task(task: Task, at: datetime | None, now: datetime) -> Explanation:
    """Explain an instant of a task, past or future; without one, the most urgent one.

    That is the execution that has waited longest, else the next instant, else the latest run.
    For an instant outside the schedule, explain the nearest expected one of its minute. Where the
    schedule left no row, explain a run of exactly this time that was made beside the schedule.
    """
    if at is None:
        found = _most_urgent(task)
        if found is not None:
            return explain_execution(found, now)
        at = task.next_run_at or now
    at = min(max(at, FIRST), LAST)
    nearest = _nearest(task, at, now)
    situation = Situation(task, nearest, now, _row_of(task, nearest))
    if situation.row is None and situation.passed:
        beside = _beside_schedule(task, at)
        if beside is not None:
            situation = Situation(task, at, now, beside)
    return _explain(situation, at)


def _explain(found: Situation, asked_at: datetime) -> Explanation:
    checks = run_checks(found)
    blocker = next((check for check in checks if check.ok is False), None)
    state = _state(found, blocker)
    held_up_by = blocker or next((check for check in checks if check.not_yet), None)
    verdict = _verdict(found, state, held_up_by, checks)
    if asked_at != found.at:
        verdict = f"The nearest expected instant is {told(found.at)}. {verdict}"
    row = found.row
    estimate = _estimate(found, state, held_up_by)
    waits = state in ("will_run", "waits")
    return Explanation(
        task_id=found.task.pk,
        task_name=found.task.name,
        asked_at=asked_at,
        scheduled_for=found.at,
        execution_id=None if row is None or found.is_span else row.pk,
        state=state,
        verdict=verdict,
        checks=checks,
        estimated_start=estimate,
        no_estimate=why_none(held_up_by) if waits and estimate is None else "",
        estimate_error=error_of(found.task) if is_by_due_time(estimate, held_up_by) else None,
        part=found.part,
    )


def _most_urgent(task: Task) -> Execution | None:
    # Of a workflow its runs: a step is explained by its own call.
    own = Execution.objects.of_task(task.pk).filter(span_count__isnull=True)
    open_work = own.filter(status__in=sorted(OPEN))
    found = open_work.order_by("due_at", "id").first()
    if found is not None or task.next_run_at is not None:
        return found
    return own.order_by("-id").first()


def _nearest(task: Task, at: datetime, now: datetime) -> datetime:
    """Return the instant itself when it is expected, else the nearest one of its minute."""
    start = at.replace(second=0, microsecond=0)
    end = start + _MINUTE - MICROSECOND
    place = Place(start, end, start)
    known = [entry.at for entry in read_occurrences(task, place, 120, now=now).entries]
    if at in known:
        return at
    spec = Timetable(task).current
    if spec is not None:
        known += [one.at for one in spec.between(start - MICROSECOND, end, 120)]
    return min(known, key=lambda moment: (abs(moment - at), moment), default=at)


def _row_of(task: Task, at: datetime) -> Execution | None:
    """Return the ledger's row of an instant, or the span row that it lies in."""
    found = Execution.objects.filter(pk=execution_id(task.pk, at)).first()
    if found is not None:
        return found
    bounds = {"task": task.pk, "low": first_id_at(at), "since": at, "limit": _SPANS_LOOKED_AT}
    for span in rows("occurrences/spans_over", bounds):
        if occurrence_at(Timetable(task).of(span[4]), at) is not None:
            return Execution.objects.filter(pk=span[0]).first()
    return None


def _beside_schedule(task: Task, at: datetime) -> Execution | None:
    """Return the latest run of exactly this time that a person or a backfill asked for."""
    jobs = BulkJob.objects.for_tenant(task.tenant_id).filter(kind=KIND, filters__task=str(task.pk))
    latest = jobs.order_by("-created_at", "-id")[:_JOBS_LOOKED_AT]
    asked_for = {"pk__in": [execution_of(job, task.pk, at) for job in latest]}
    of_that_time = {"id__gte": first_id_at(at), "id__lt": first_id_at(at + _MILLISECOND)}
    for bounds in (asked_for, of_that_time):
        runs = Execution.objects.filter(task_id=task.pk, scheduled_for=at, **bounds)
        found = runs.filter(span_count__isnull=True).order_by("created_at", "id").last()
        if found is not None:
            return found
    return None


# --- verdict and estimate ---------------------------------------------------------------------


def _state(found: Situation, blocker: Check | None) -> str:
    status = found.status
    if status == Status.RUNNING:
        return "runs"
    if found.final:
        ran = status in (Status.SUCCEEDED, Status.FAILED) or found.started
        return "ran" if ran else "did_not_run"
    if blocker is None:
        return "will_run"
    if blocker.name == "budget":
        return "will_not_run"
    if found.row is not None:
        return "waits"
    return _state_without_row(found, blocker)


def _state_without_row(found: Situation, blocker: Check) -> str:
    over = found.at <= found.now
    if blocker.name == "in_schedule":
        return "not_expected"
    if blocker.name in ("calendar", "task_exists"):
        return "did_not_run" if over else "will_not_run"
    if blocker.name == "misfire":
        return "will_not_run"
    if blocker.name == "tenant_active":
        skips = found.task.schedule.get("misfire_policy") == "skip"
        return "will_not_run" if skips and over else "waits"
    if blocker.name == "task_active":
        return _state_when_inactive(found, blocker, over)
    return "did_not_run" if found.passed else "waits"


def _state_when_inactive(found: Situation, blocker: Check, over: bool) -> str:
    task = found.task
    if task.status != TaskStatus.PAUSED:
        return "did_not_run" if over else "will_not_run"
    skipped = task.on_resume == OnResume.SKIP and (over or blocker.until is not None)
    return "will_not_run" if skipped else "waits"


def _verdict(
    found: Situation, state: str, held_up_by: Check | None, checks: Sequence[Check]
) -> str:
    if state in _LEADS and held_up_by is not None and held_up_by.ok is False:
        return f"{_LEADS[state]}: {held_up_by.says}."
    if state == "ran":
        return _verdict_of_run(found)
    if state == "runs" and found.is_run:
        return _verdict_of_open_run(checks)
    if state == "runs":
        late = why_late(found)
        return f"It runs at this moment.{f' It began late: {late}.' if late else ''}"
    if state == "did_not_run":
        return f"It did not run: {found.reason or 'no reason was noted'}."
    if held_up_by is None:
        return "It is about to start: nothing stands in its way."
    lead = {
        "due": "It will run",
        "retry": "It will be tried again",
        "lease": "It is about to start",
    }
    return f"{lead[held_up_by.name]}: {held_up_by.says}."


def _verdict_of_open_run(checks: Sequence[Check]) -> str:
    """Return what a run under way waits for: its pause, or its steps."""
    waits = [one for one in checks if one.name in ("run", "steps") and one.holds_up]
    return " ".join(f"{capitalised(one.says)}." for one in waits) or "The run is under way."


def _verdict_of_run(found: Situation) -> str:
    row, late = found.row, why_late(found)
    if row is None:
        return "It ran."
    after = ""
    if late and row.started_at is not None:
        due_at = found.attempts[0].due_at if found.attempts else row.due_at
        delay = row.started_at - (found.at if found.scheduled else due_at or row.due_at)
        after = f" late by {spell(delay)}: {late}" if delay > timedelta() else ""
    if row.status == Status.SUCCEEDED:
        return f"It ran{after}." if after else f"It ran, {_when(row)}, and succeeded."
    how = "was cancelled" if row.status == Status.CANCELLED else "failed"
    error = row.error_code or row.reason
    return f"It ran{after or f', {_when(row)}'}, and {how}{f': {error}' if error else ''}."


def _when(row: Execution) -> str:
    return f"from {told(row.started_at)}" if row.started_at else "at an unknown time"


def _estimate(found: Situation, state: str, held_up_by: Check | None) -> datetime | None:
    if state not in ("will_run", "waits"):
        return None
    soonest = max(found.due_at, found.now)
    if held_up_by is None or held_up_by.name == "lease":
        return soonest
    return None if held_up_by.until is None else max(held_up_by.until, soonest)
