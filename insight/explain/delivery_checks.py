"""Checks of the way to a worker and of the result: Redis, workers, lease, run, outcome."""

from __future__ import annotations

from collections import Counter

from executions.choices import FINAL, Status
from insight.explain import pool_checks
from insight.explain.answer import Check, Fix, spell, told
from insight.explain.evidence import PoolRoom, Situation
from insight.explain.reasons import REASONS, meaning_of
from shared.payload_sight import hide
from shared.process_sight import is_hidden, shown_worker

_START_WORKER = Fix("Start a worker: `manage.py up`, or `run_worker`.", "", "workers")
_MORE_WORKERS = Fix("Start another worker, or raise WORKER_CAPACITY.", "", "workers")
_SHARED = (
    "While more is due than workers can run, tenants get capacity by their weights; "
    "`GET /v1/shares` shows it."
)
_START_REDIS = Fix("Start Redis again; `manage.py doctor` checks it.", "", "workers")


def redis(found: Situation) -> Check:
    """Judge whether Redis, which carries released work, answers."""
    if not _to_be_released(found):
        return _not_asked("redis", found)
    if found.pool_room is None:
        says = "Redis cannot be reached, so no worker gets work"
        return Check("redis", False, says, "Due work waits in the database.", _START_REDIS)
    return Check("redis", True, "Redis answers")


def workers(found: Situation) -> Check:
    """Judge whether live workers of the pool have free capacity."""
    if not _to_be_released(found):
        return _not_asked("workers", found)
    if pool_checks.is_leased_from(found):
        return pool_checks.workers(found)
    pool = found.pool_room
    if pool is None:
        return Check("workers", None, "Redis, which knows the workers, cannot be reached")
    taking = [worker for worker in pool.workers if worker.takes_work]
    if not taking:
        return _none_takes_work(pool, found.pool)
    used = _used(pool, found.pool)
    if pool.in_flight >= pool.room:
        says, more = f"no worker has free capacity: {used}", _SHARED if pool.is_scarce else ""
        return Check("workers", False, says, more, _MORE_WORKERS)
    if pool.is_scarce:
        says = f"it waits for its tenant's share of the pool {found.pool}"
        says = says if is_hidden() else f"{says}: {used}"
        return Check("workers", False, says, _SHARED, _MORE_WORKERS)
    return Check("workers", True, f"{used}, with {len(taking)} live workers")


def _used(pool: PoolRoom, name: str) -> str:
    """Return how much of a pool is in use; where processes are hidden, whether any of it is free.

    All tenants share the pool: the number would tell what the others run.
    """
    if not is_hidden():
        return f"{pool.in_flight} of {pool.room} places of the pool {name} are in use"
    if pool.in_flight >= pool.room:
        return f"all {pool.room} places of the pool {name} are in use"
    return f"the pool {name} has free capacity"


def lease(found: Situation) -> Check:
    """Judge whether a worker was handed the work, and until when it may start it."""
    row = found.row
    if row is None or (row.queued_at is None and not found.started):
        return Check("lease", None, "it has not been handed to a worker")
    handed = f" at {told(row.queued_at)}" if row.queued_at else ""
    if row.status != Status.QUEUED:
        who = f", {shown_worker(row.worker)}," if row.worker else ""
        ok = True if found.started else None
        return Check("lease", ok, f"it was handed to a worker{who}{handed}")
    end = f" until {told(row.lease_expires_at)}" if row.lease_expires_at else ""
    if pool_checks.is_leased_from(found):
        return pool_checks.leased(row)
    says = f"a worker of the pool {row.pool} was handed it{handed} and has not started it yet"
    more = f"The lease holds{end}. If the worker has not started it by then, it is taken back."
    if not found.due:
        says = f"a worker of the pool {row.pool} holds it for its time, handed over{handed}"
        return Check("lease", True, says, more)
    return Check("lease", None, says, more, until=row.lease_expires_at, not_yet=True)


def running(found: Situation) -> Check:
    """Report which worker runs it since when, and until when it may run."""
    row = found.row
    if row is None or row.status != Status.RUNNING:
        return Check("running", None, "it does not run at this moment")
    if row.accepted_at is not None:
        return pool_checks.goes_on(row, found.now)
    began = row.started_at
    who = shown_worker(row.worker) or "a worker"
    says = f"attempt {row.attempt} of {row.max_attempts} runs with {who}"
    if began is not None and row.attempt <= 1:
        says += f" since {told(began)}, for {spell(found.now - began)}"
    end = f"Its time ends at {told(row.lease_expires_at)}." if row.lease_expires_at else ""
    if row.cancel_requested_at is not None:
        end = f"It is being cancelled since {told(row.cancel_requested_at)}. {end}".strip()
    return Check("running", True, says, end)


def outcome(found: Situation) -> Check:
    """Report its outcome."""
    row = found.row
    if row is None or row.status not in FINAL:
        return Check("outcome", None, "it has no outcome yet")
    ended = f" at {told(row.finished_at)}" if row.finished_at else ""
    if row.status == Status.SUCCEEDED:
        tries = "" if found.is_run else f", in attempt {row.attempt} of {row.max_attempts}"
        return Check("outcome", True, f"it succeeded{ended}{tries}")
    if row.status == Status.FAILED:
        return _failed(found, ended)
    if _told_before(found):
        return Check("outcome", None, f"it ended as {row.status}, as a check above explains")
    if row.status == Status.CANCELLED:
        by = found.change("execution.cancelled", kind="execution")
        says = f"it was cancelled{f' by {by}' if by else ''}{ended}"
        return Check("outcome", False, says, _unless_plain(row.reason))
    says = f"it was skipped: {row.reason or 'no reason was noted'}"
    return Check("outcome", False, says, meaning_of(row.reason) if row.reason else "")


def _failed(found: Situation, ended: str) -> Check:
    row, letter = found.row, found.letter
    if row is None:
        return Check("outcome", None, "it has no outcome yet")
    error = f"{row.error_code or row.reason or 'no reason was noted'}"
    tries = "" if found.is_run else f" after {row.attempt} of {row.max_attempts} attempts"
    says = f"it failed{ended}{tries}: {error}"
    more = f"{hide(row.error_message).rstrip('.')}." if row.error_message else ""
    if row.reason:
        more = f"{more} {meaning_of(row.reason)}".strip()
    if letter is None and found.part is not None:
        run = found.part.run_id
        fix = Fix("Retry the run.", f"POST /v1/workflow-runs/{run}/retry", "workflow_run", run)
        return Check("outcome", False, says, more, fix)
    if letter is None:
        fix = Fix("Retry it.", f"POST /v1/executions/{row.pk}/retry", "execution", row.pk)
        return Check("outcome", False, says, more, fix)
    if letter.resolved:
        return Check("outcome", False, says, f"{more} Resolved as {letter.resolution}.".strip())
    fix = Fix("Retry its dead letter.", f"POST /v1/dlq/{letter.pk}/retry", "dead_letter", letter.pk)
    return Check("outcome", False, says, more, fix)


def _told_before(found: Situation) -> bool:
    reason = REASONS.get(found.reason)
    return reason is not None and reason.check != "outcome" and not found.started


def _unless_plain(reason: str) -> str:
    return meaning_of(reason) if reason not in ("", "cancelled") else ""


def _to_be_released(found: Situation) -> bool:
    row = found.row
    return row is not None and found.waiting and found.due and not row.held


def _not_asked(name: str, found: Situation) -> Check:
    if found.row is not None and not found.waiting:
        handed = found.started or found.status == Status.QUEUED
        says = "a worker was found" if handed else "it never reached this check"
        return Check(name, True if handed else None, says)
    return Check(name, None, "this is checked when it may start")


def _none_takes_work(pool: PoolRoom, name: str) -> Check:
    """Judge a pool whose workers are quiet, stop or are gone."""
    states = Counter(worker.state for worker in pool.workers if worker.live)
    if not states:
        says = f"no live worker of the pool {name} takes work"
        return Check("workers", False, says, _gone(pool), _START_WORKER)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    says = f"no worker of the pool {name} takes new work: {counted}"
    if "quiet" not in states:
        return Check("workers", False, says, "All live workers are about to stop.", _START_WORKER)
    more = "The operator of the installation has made workers quiet."
    text = f"Let them work again: `manage.py workers resume --pool {name}`; or start another."
    return Check("workers", False, says, more, Fix(text, "", "workers"))


def _gone(pool: PoolRoom) -> str:
    silent = [worker.silent_seconds for worker in pool.workers if not worker.live]
    if not silent:
        return "No worker has reported within the last day."
    return f"The last one fell silent {min(silent):.0f} s ago."
