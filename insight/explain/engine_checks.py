"""Checks of the schedulers' part: preparing an instant, the misfire policy, the gate."""

from __future__ import annotations

from datetime import datetime, timedelta

from executions.choices import Status
from executions.ledger.tenant_retention import days_of
from executions.models import Execution
from executions.ownership import fence
from insight.explain.answer import Check, Fix, spell, told
from insight.explain.evidence import Owner, Situation, horizon_end
from insight.explain.lateness import stretch_of, was_late_by_outage
from insight.explain.reasons import REASONS, meaning_of
from insight.explain.timetable import next_after
from shared.conf import conf
from shared.payload_sight import hide
from shared.process_sight import shown_scheduler
from tasks.choices import AS_MISSED, TaskStatus

_START_ONE = Fix("Start a scheduler: `manage.py up`, or `run_scheduler`.", "", "workers")
_CONFIRM = Fix("Check what would run, then confirm: `manage.py restore --confirm`.")
_POLICIES = {
    "skip": "skipped",
    "coalesce": "caught up by one run",
    "replay": "replayed, each instant",
}


def prepared(found: Situation) -> Check:
    """Judge whether the instant is in the ledger and a live scheduler owns its partition."""
    if found.row is not None:
        says = f"it is in the ledger since {told(found.row.created_at)}"
        if not found.waiting or not found.due:
            return Check("prepared", True, says, "" if found.final else _owner(found))
        return _looked_after(found, says)
    if found.occurrence is None:
        return Check("prepared", None, "there is nothing to prepare")
    if found.passed:
        return _missing(found)
    if found.task.status == TaskStatus.PAUSED:
        return Check("prepared", None, "no instant is prepared while the task is paused")
    if found.at > horizon_end(found.now):
        ahead = f"{conf().horizon_seconds:g} s"
        says = f"the scheduler prepares it {ahead} before its time"
        return Check("prepared", None, says, _owner(found))
    return _looked_after(found, "the scheduler is about to prepare it")


def misfire(found: Situation) -> Check:
    """Judge the decision of the misfire policy on a missed instant, past or coming."""
    reason = REASONS.get(found.reason)
    if reason is not None and reason.check == "misfire":
        return _missed(found)
    if not found.scheduled:
        return Check("misfire", None, "only instants of a schedule can be missed")
    if found.row is not None and was_late_by_outage(found):
        return Check("misfire", None, f"it was late by an outage, by {_threshold()} at most")
    if found.row is not None:
        return Check("misfire", None, "it was not missed: it was in the ledger in time")
    late = found.now - found.at
    if found.occurrence is None or found.passed or not _is_missed(late):
        return Check("misfire", None, "the instant is not missed so far")
    resumed = found.task.resumed_at
    if found.task.status == TaskStatus.PAUSED or (resumed is not None and found.at <= resumed):
        return Check("misfire", None, _decided_by_pause(found))
    return _to_be_missed(found, late)


def _decided_by_pause(found: Situation) -> str:
    if found.task.on_resume != AS_MISSED:
        return f"it fell into a pause, whose on_resume, {found.task.on_resume}, decides on it"
    policy = found.task.schedule.get("misfire_policy") or "coalesce"
    return f"it fell into a suspension of the tenant; the misfire policy, {policy}, decides on it"


def overlap(found: Situation) -> Check:
    """Judge whether earlier runs of the task leave it a place."""
    if found.reason == "overlap_skipped":
        says = "an earlier run held its place when it was due"
        return Check("overlap", False, says, _policy(found), _change_overlap(found))
    if found.reason == "overlap_cancelled" and found.final:
        says = "the next run took its place: overlap_policy is cancel_running"
        return Check("overlap", False, says, fix=_change_overlap(found))
    row, schedule = found.row, found.task.schedule
    free = schedule.get("overlap_policy", "allow") == "allow"
    if free and not schedule.get("max_concurrent") and not (row and row.gated):
        return Check("overlap", None, "runs of this task may overlap without limit")
    if row is not None and row.series_id is not None:
        return Check("overlap", None, "the bulk job that made it has a limit of its own")
    if row is None or not found.waiting or not found.due:
        decided = "had a place" if found.started else "is asked when it is due"
        return Check("overlap", found.started or None, f"its place: it {decided}", _policy(found))
    if not row.gated:
        return Check("overlap", True, "it has been given a place")
    return _waits_for_place(found)


def bulk_job(found: Situation) -> Check:
    """Judge whether the bulk job that made it leaves it a place."""
    row, job = found.row, found.job
    if row is None or row.series_id is None:
        return Check("bulk_job", None, "no bulk job made it")
    if found.reason == "job_cancelled":
        name = f", {job.name}," if job and job.name else ""
        return Check("bulk_job", False, f"its bulk job{name} was cancelled before it began")
    if job is None:
        return Check("bulk_job", None, "its bulk job is no longer kept")
    name = job.name or f"{job.action} {job.kind}"
    if not row.gated or not found.waiting:
        return Check("bulk_job", True, f"the bulk job {name} gave it a place")
    if not found.due:
        return Check("bulk_job", None, f"the bulk job {name} gives it a place when it is due")
    if found.standing.room(1):
        return Check("bulk_job", None, f"the bulk job {name} is about to give it a place")
    says = f"the bulk job {name} runs {found.standing.limit} at a time"
    call = f"POST /v1/bulk-jobs/{job.pk}/cancel"
    fix = Fix("Wait, or cancel the bulk job.", call, "bulk_job", job.pk)
    more = f"{len(found.holders)} have their places, {found.before_in_line} wait before it."
    return Check("bulk_job", False, says, more, fix, _free_at(found))


def retry(found: Situation) -> Check:
    """Judge whether it waits for its next attempt."""
    row = found.row
    if row is None or row.status != Status.RETRYING:
        tried = row is not None and row.attempt > 1
        says = f"it took {row.attempt} attempts" if row and tried else "no attempt failed before"
        return Check("retry", True if tried else None, says)
    last = found.attempts[-1] if found.attempts else None
    code = last.error_code if last else row.error_code
    message = hide(last.error_message if last else row.error_message)
    which = f"attempt {row.attempt + 1} of {row.max_attempts}"
    why = f"Attempt {row.attempt} ended with {code or 'a failure'}: {message}".rstrip(": ")
    why = f"{why.rstrip('.')}."
    if row.due_at > found.now:
        wait = spell(row.due_at - found.now)
        says = f"{which} follows at {told(row.due_at)}, in {wait}"
        return Check("retry", None, says, why, until=row.due_at, not_yet=True)
    return Check("retry", True, f"{which} is due since {told(row.due_at)}", why)


# --- prepared -------------------------------------------------------------------------------


def _name_of(owner: Owner) -> str:
    return shown_scheduler(owner.name or "") or str(owner.owner)


def _owner(found: Situation) -> str:
    owner = found.owner
    if owner.owner is None or owner.expires_at is None:
        return f"Partition {_partition(found)} has no owner."
    return (
        f"Partition {_partition(found)} is owned by {_name_of(owner)} under epoch "
        f"{owner.epoch}, until {told(owner.expires_at)}."
    )


def _partition(found: Situation) -> int:
    return found.task.partition if found.row is None else found.row.partition


def _looked_after(found: Situation, says: str) -> Check:
    """Judge whether a live scheduler owns the partition of work that is due now."""
    owner, now, number = found.owner, found.now, _partition(found)
    if owner.owner == fence.OWNER:
        says = "everything is held back since the database was restored"
        return Check(
            "prepared", False, says, "The operator has not confirmed the restore yet.", _CONFIRM
        )
    if owner.owner is None or owner.expires_at is None:
        since = f" since {told(owner.expires_at)}" if owner.expires_at else ""
        says = f"no scheduler owns partition {number}{since}"
        return Check(
            "prepared",
            False,
            says,
            "No scheduler is alive, or none has taken the partition yet.",
            _START_ONE,
        )
    if owner.expires_at <= now:
        says = (
            f"the scheduler of partition {number}, {_name_of(owner)}, has lost its lease "
            f"at {told(owner.expires_at)}"
        )
        return Check(
            "prepared", False, says, "No other scheduler has taken the partition over.", _START_ONE
        )
    heard = owner.heartbeat_at
    silent = timedelta(seconds=conf().partition_lease_seconds)
    if heard is None or now - heard > silent:
        since = f" since {told(heard)}" if heard else ""
        says = f"the scheduler of partition {number}, {_name_of(owner)}, is silent{since}"
        more = f"Its lease ends at {told(owner.expires_at)}; then another may take over."
        return Check("prepared", False, says, more, _START_ONE, owner.expires_at)
    return Check("prepared", True, says, _owner(found))


def _missing(found: Situation) -> Check:
    """Judge an instant that the cursor has gone past without leaving a row."""
    days = days_of(found.task.tenant_id)
    if found.at < found.now - timedelta(days=days):
        says = f"the ledger keeps {days} days, and this instant is older"
        return Check("prepared", False, says)
    cursor = found.task.next_run_at
    if cursor is None:
        ended = found.task.status if found.task.status != TaskStatus.SCHEDULED else "at its end"
        says = f"the task was {ended}, so no instant was prepared"
    else:
        says = f"the schedule was halted then: it continues at {told(cursor)}, without this instant"
    return Check("prepared", False, says, "The ledger has no row of it.")


# --- misfire --------------------------------------------------------------------------------


def _threshold() -> str:
    return spell(timedelta(seconds=conf().missed_after_seconds))


def _is_missed(late: timedelta) -> bool:
    return late > timedelta(seconds=conf().missed_after_seconds)


def _missed(found: Situation) -> Check:
    ran = found.status != Status.SKIPPED
    when = found.row.created_at if found.row else found.now
    says = f"it was missed, by {spell(when - found.at)}, while no scheduler ran"
    if found.outage is not None:
        says += f", {stretch_of(found)}"
    more = meaning_of(found.reason)
    if ran:
        return Check("misfire", True, says, more)
    fix = Fix(
        "Change misfire_policy of the task, or run it now.",
        f"POST /v1/tasks/{found.task.pk}/run",
        "task",
        found.task.pk,
    )
    return Check("misfire", False, f"{says}: {_skipped_by(found)}", fix=fix)


def _skipped_by(found: Situation) -> str:
    grace = found.task.schedule.get("misfire_grace_seconds")
    return {
        "misfire_skipped": "misfire_policy is skip",
        "misfire_coalesced": "misfire_policy is coalesce, and another run covers it",
        "misfire_grace_exceeded": f"misfire_grace_seconds is {grace}",
    }.get(found.reason, found.reason)


def _to_be_missed(found: Situation, late: timedelta) -> Check:
    """Judge how the policy will decide on an instant that no scheduler has reached yet."""
    schedule = found.task.schedule
    policy = str(schedule.get("misfire_policy") or "coalesce")
    grace = schedule.get("misfire_grace_seconds")
    says = f"it is missed by {spell(late)}; misfire_policy is {policy}"
    if isinstance(grace, int | float) and late.total_seconds() > grace:
        return Check("misfire", False, f"{says}, and misfire_grace_seconds is {grace:g}")
    if found.task.type == "ONE_TIME":
        return Check("misfire", True, f"it is missed by {spell(late)}; a one-time task runs late")
    if policy == "skip":
        return Check("misfire", False, says)
    if policy == "coalesce" and schedule.get("misfire_coalesce") != "earliest":
        later = next_after(found.spec, found.at)
        if later is not None and _is_missed(found.now - later):
            return Check("misfire", False, f"{says}: the latest one that was missed runs")
    return Check("misfire", True, f"{says}: it is {_POLICIES.get(policy, 'judged')}")


# --- the gate -------------------------------------------------------------------------------


def _change_overlap(found: Situation) -> Fix:
    task = found.task.pk
    text = "Change overlap_policy or max_concurrent of the task."
    return Fix(text, f"PATCH /v1/tasks/{task}", "task", task)


def _policy(found: Situation) -> str:
    schedule = found.task.schedule
    most = schedule.get("max_concurrent")
    limit = f", max_concurrent is {most}" if most else ""
    return f"The overlap_policy is {schedule.get('overlap_policy', 'allow')}{limit}."


def _waits_for_place(found: Situation) -> Check:
    limit, holders = found.standing.limit, found.holders
    if found.standing.room(1) or not holders:
        says = "the gate is about to decide on it: there is a place"
        return Check("overlap", None, says, _policy(found))
    named = "max_concurrent" if found.task.schedule.get("max_concurrent") else "overlap_policy"
    says = f"{_named(holders[0])} still holds the only place ({named})"
    if limit and limit > 1:
        says = f"{_named(holders[0])} and {len(holders) - 1} more hold the {limit} places"
    ending = sum(place.cancelling for place in found.standing.places)
    more = f"{_policy(found)} {ending} of them is being cancelled." if ending else _policy(found)
    line = f" {found.before_in_line} wait before it." if found.before_in_line else ""
    fix = Fix(
        "Cancel the run that holds the place, or allow more runs at a time.",
        f"POST /v1/executions/{holders[0].pk}/cancel",
        "execution",
        holders[0].pk,
    )
    return Check("overlap", False, says, f"{more}{line}", fix, _free_at(found))


def _named(holder: Execution) -> str:
    since = f" since {told(holder.started_at)}" if holder.started_at else ""
    return f"the run of {told(holder.scheduled_for)} ({holder.status}{since})"


def _free_at(found: Situation) -> datetime | None:
    """Return when a place is free at the latest: the first lease that ends, if all run."""
    ends = [holder.lease_expires_at for holder in found.holders if holder.lease_expires_at]
    only = len(found.holders) == 1 and not found.before_in_line
    return min(ends) if ends and only else None
