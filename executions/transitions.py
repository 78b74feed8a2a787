"""Every write of an execution's state, one function per verb.

Each takes a batch and returns the executions that really moved: the statement's guard (states and
fencing token) decides, and the result leaves out a row that is no longer ours. The event and the
dependent rows (attempt, dead letter) are written in the same statement or transaction; the caller
has opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from executions import run_signals
from executions.choices import AttemptOutcome, Status, Trigger
from executions.ledger import budget_charges, final_log, minute_stats, settling, spans, totals
from executions.ledger.days import ensure_days_of
from executions.ledger.settling import Moved, Settled, joined
from shared.conf import conf
from shared.ids import attempt_id, new_ids
from shared.sql import Asked, rows, run
from shared.sql_arrays import of_blobs, of_floats, of_integers, of_moments, of_texts, of_uuids
from tasks.versions import is_of_compensation, is_of_step
from tenants.quotas.limits import TENANT_LIMIT
from wire.costs import NO_COST
from wire.destination_key import QUOTA_OF
from wire.messages import Claimed

_CANCEL_AT_ONCE = 5000
_TASK = Moved._fields.index("task_id")
#: How long work without a worker of ours may continue once its cancel is requested.
CANCEL_GRACE_SECONDS = 30.0


class Finish(NamedTuple):
    """The outcome of one attempt; ``status`` is the state that the execution moves to.

    ``retry_in`` seconds count from the database's now; ``lost`` is 1 when its worker died; ``cost``
    is by unit.
    """

    execution_id: UUID
    token: int
    number: int
    status: str
    outcome: str
    reason: str = ""
    retry_in: float = 0.0
    worker: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    response_status: int | None = None
    error_code: str = ""
    error_message: str = ""
    timings: str = "{}"
    sealed_response: bytes | None = None
    lost: int = 0
    sealed_result: bytes | None = None
    cost: Mapping[str, float] = NO_COST.by_unit


@dataclass(frozen=True, slots=True)
class Beaten:
    """The execution of a heartbeat: its worker, whether it is to end, and the end of its lease."""

    task_id: UUID
    tenant_id: UUID
    pool: str
    worker: str
    cancel_requested: bool
    lease_expires_at: datetime
    began: bool


def mark_queued(
    parameters: dict[str, object], *, by_shares: bool = False
) -> tuple[list[Claimed], int]:
    """Move PENDING or RETRYING to QUEUED for a batch of due work, each under a new token.

    ``by_shares``: of tenants that have places, and in any partition that is ready. Return also how
    many stay behind: parked, because their destinations have no capacity, or handed back, because
    their definition is not visible yet.
    """
    within = "dispatch/claim_due_within" if "limited" in parameters else "dispatch/claim_due"
    found = rows("dispatch/claim_by_shares" if by_shares else within, parameters)
    claimed = [Claimed._make(row[:-1]) for row in found if row[0] is not None]
    # The race: an edit that commits between the claim's snapshot and its row lock. The claim gets
    # the row of the new version and does not see that version; the next pass does.
    unread = [(row.id, row.token) for row in claimed if not row.target]
    if unread:
        withdraw(unread)
        claimed = [row for row in claimed if row.target]
    return claimed, found[0][-1] + len(unread)


def marking_queued_at_once(ids: Iterable[UUID], incarnation: str) -> Asked:
    """Return the statement that moves PENDING to QUEUED, each under a new token, for due work.

    Not for work on hold, nor where its destination has limits or parked work. It returns `Claimed`.
    """
    margin = conf().start_margin_seconds
    given = {"ids": of_uuids(ids), "incarnation": incarnation, "margin": margin}
    return "dispatch/claim_these", given


def mark_leased(parameters: dict[str, object]) -> list[Claimed]:
    """Move PENDING or RETRYING to QUEUED for due work of a pool that a pull worker leases."""
    return [Claimed(*row) for row in rows("pull/claim", parameters)]


def mark_running(
    started: Sequence[tuple[UUID, int, str, datetime]],
) -> list[UUID]:
    """Move QUEUED to RUNNING for (execution, token, worker, started at); return the moved ones."""
    if not started:
        return []
    moved = joined(
        "complete/start",
        {
            "ids": [row[0] for row in started],
            "tokens": [row[1] for row in started],
            "workers": [row[2] for row in started],
            "started_at": [row[3] for row in started],
            "margin": conf().lease_margin_seconds,
        },
    )
    settling.begin_tasks([row[1] for row in moved])
    return [row[0] for row in moved]


def accept(accepted: Sequence[tuple[UUID, int, str, datetime, datetime]]) -> list[UUID]:
    """Move QUEUED or RUNNING to RUNNING at the receiver, which answered 202; return the moved ones.

    For (execution, token, worker, started at, accepted at). From here on heartbeats keep the lease.
    """
    if not accepted:
        return []
    ids, tokens, workers, started_at, at = (list(column) for column in zip(*accepted, strict=True))
    given = {"ids": ids, "tokens": tokens, "workers": workers, "started_at": started_at, "at": at}
    moved = joined("callback/accept", {**given, "grace": CANCEL_GRACE_SECONDS})
    settling.begin_tasks([row[1] for row in moved])
    return [row[0] for row in moved]


def heartbeat(
    execution_id: UUID, token: int, progress: bytes | None, extend_seconds: float | None
) -> Beaten | None:
    """Extend the lease of work that runs without a worker of ours; None for a stale token.

    The first heartbeat of a QUEUED execution moves it to RUNNING. ``progress`` is sealed.
    """
    found = rows(
        "callback/heartbeat",
        {
            "id": execution_id,
            "token": token,
            "progress": progress,
            "extend": extend_seconds,
            "grace": CANCEL_GRACE_SECONDS,
        },
    )
    if not found:
        return None
    beaten = Beaten(*found[0])
    if beaten.began:
        settling.begin_tasks([beaten.task_id])
    return beaten


def finish(finishes: Sequence[Finish]) -> list[UUID]:
    """Move each execution to the outcome of its attempt, with attempt, event and dead letter.

    This is succeed, schedule_retry, dead_letter and the end of a cancel in one batch; return the
    executions that moved. The result leaves out stale tokens and executions that had ended before.
    The rows of the minute stay locked until the commit: it should be the last write of its
    transaction.
    """
    if not finishes:
        return []
    ensure_days_of([entry.execution_id for entry in finishes])
    again = [entry for entry in finishes if entry.status == Status.RETRYING]
    # First: the rows that it leaves, because their cancel was requested, end in the next one.
    found = joined("complete/try_again", _columns(again)) if again else []
    if len(found) < len(finishes):
        retrying = {row[0] for row in found}
        left = [entry for entry in finishes if entry.execution_id not in retrying]
        found += joined("complete/finish", _columns(left))
    moved = [Moved._make(row) for row in settling.first_ends(found, _TASK)]
    _settle(moved, finishes)
    run_signals.tell([row.run_id for row in moved])
    return [row.id for row in moved]


def fail_unstarted(ids: Sequence[UUID]) -> None:
    """Apply executions that the caller's transaction has written as FAILED without an attempt.

    Their tasks end, they get dead letters, and they are counted and logged as other failures.
    """
    parameters = {"ids": of_uuids(ids), "low": min(ids), "high": max(ids)}
    moved = [Moved._make(row) for row in rows("complete/failed_unstarted", parameters)]
    failed = str(Status.FAILED)
    ended = [Finish(one.id, 0, 0, failed, "", one.reason, error_code=one.reason) for one in moved]
    _settle(moved, ended)


def _settle(moved: Sequence[Moved], finishes: Sequence[Finish]) -> None:
    failed = [
        row.id
        for row in moved
        # The run of a workflow has the letter of a step, but not of what should have undone it.
        if row.status == Status.FAILED
        and (not is_of_step(row.revision) or is_of_compensation(row.revision))
    ]
    if failed:
        by_id = {entry.execution_id: entry for entry in finishes}
        insert_letters([by_id[execution] for execution in failed])
    if moved:
        freed = [row.freed for row in moved if row.freed]
        gated = settling.settle([row.of_task for row in moved], freed)
        reports = totals.reports_of(finishes)
        attempts = totals.of_attempts(moved, reports)
        ended = [row.ended(reports[row.id].outcome, reports[row.id].error_code) for row in moved]
        counting = minute_stats.counting(ended, attempts)
        budget_charges.charge(moved, finishes, gated, counting)
        settling.note_lines(moved, finishes)
        spans.note_ended(moved)


def withdraw(voided: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Move QUEUED to PENDING for (execution, token) that the start guard has voided."""
    return _hand_back(voided, "execution.withdrawn")


def release(returned: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Move QUEUED to PENDING for (execution, token) that a worker handed back unstarted."""
    return _hand_back(returned, "execution.released")


def defer(deferred: Sequence[tuple[UUID, int, str, datetime]]) -> list[UUID]:
    """Move QUEUED to PENDING, parked by its destination, for (execution, token, reason, until)."""
    if not deferred:
        return []
    parameters = {
        "ids": [row[0] for row in deferred],
        "tokens": [row[1] for row in deferred],
        "reasons": [TENANT_LIMIT if row[2] in QUOTA_OF else row[2] for row in deferred],
        "quotas": [QUOTA_OF.get(row[2], "") for row in deferred],
        "until": [row[3] for row in deferred],
    }
    return [row[0] for row in joined("complete/defer", parameters)]


def cancel(rows_: Sequence[tuple[UUID, int | None]], reason: str) -> list[UUID]:
    """Move PENDING, RETRYING or voided QUEUED to CANCELLED; return the moved ones.

    Works in chunks of 5,000 to keep statements short. Settles the tasks once, after the last chunk.
    """
    if not rows_:
        return []
    ensure_days_of([row[0] for row in rows_])
    moved: list[tuple[Any, ...]] = []
    for start in range(0, len(rows_), _CANCEL_AT_ONCE):
        part = rows_[start : start + _CANCEL_AT_ONCE]
        ends = joined(
            "complete/cancel",
            {
                "ids": [row[0] for row in part],
                "tokens": [row[1] for row in part],
                "reason": reason,
            },
        )
        moved += settling.first_ends(ends, task_at=1)
    ids = [row[0] for row in moved]
    if ids:
        settling.settle(
            [Settled._make((*row[:2], Status.CANCELLED, *row[2:5])) for row in moved],
            freed=[row[5] for row in moved if row[5]],
        )
        final_log.note_cancelled(ids, reason)
        run_signals.tell([row[6] for row in moved])
    return ids


def request_cancel(ids: Sequence[UUID], reason: str = "") -> list[UUID]:
    """Mark RUNNING executions to be cancelled by their holder; return the marked ones.

    A run of a workflow cancels its steps instead.
    """
    if not ids:
        return []
    parameters = {"ids": list(ids), "reason": reason, "grace": CANCEL_GRACE_SECONDS}
    marked = rows("complete/request_cancel", parameters)
    run_signals.tell([row[2] for row in marked])
    return [row[0] for row in marked]


def skip(ids: Sequence[UUID], reason: str) -> list[UUID]:
    """Move gated PENDING to SKIPPED, as the gate decided; return the moved ones.

    A task whose schedule has nothing left to run ends with it.
    """
    if not ids:
        return []
    ensure_days_of(ids)
    ends = rows("gate/skip", {"ids": list(ids), "reason": reason})
    moved = settling.first_ends(ends, task_at=1)
    if moved:
        settling.end_tasks(list({row[1] for row in moved}))
        run_signals.tell([row[2] for row in moved])
    return [row[0] for row in moved]


def insert_manual(parameters: dict[str, object]) -> UUID:
    """Insert a PENDING execution outside the schedule: run now, retry."""
    found: UUID = rows("changing/insert_manual", parameters)[0][0]
    totals.add({f"scheduled/{parameters['trigger']}": 1})
    return found


def insert_series(parameters: dict[str, object]) -> int:
    """Insert gated PENDING executions of a backfill; return how many are new."""
    made: int = rows("backfill/insert_executions", parameters)[0][0]
    totals.add({f"scheduled/{Trigger.BACKFILL}": made})
    return made


def _hand_back(returned: Sequence[tuple[UUID, int]], event: str) -> list[UUID]:
    if not returned:
        return []
    moved = joined(
        "complete/hand_back",
        {
            "ids": [row[0] for row in returned],
            "tokens": [row[1] for row in returned],
            "event": event,
        },
    )
    return [row[0] for row in moved]


def insert_letters(failed: Sequence[Finish]) -> None:
    """Insert the dead letter of each execution that has failed for good in this transaction."""
    if not failed:
        return
    ids = [entry.execution_id for entry in failed]
    run(
        "complete/insert_dead_letters",
        {
            "low": min(ids),
            "high": max(ids),
            "ids": new_ids(len(ids)),
            "execution_ids": ids,
            "signatures": [signature(entry) for entry in failed],
        },
    )


def signature(entry: Finish) -> str:
    """Return the cause of a failure in a form that equal causes share."""
    if entry.error_code == "http_status" and entry.response_status is not None:
        return f"http_status:{entry.response_status}"
    return entry.error_code or entry.reason


def _columns(finishes: Sequence[Finish]) -> dict[str, object]:
    """Return the outcomes as arrays; None for an array with only an immediate success's value."""

    def unless(usual: object, name: str, array: Callable[[list[Any]], object]) -> object:
        values = [getattr(entry, name) for entry in finishes]
        return None if values.count(usual) == len(values) else array(values)

    return {
        "ids": of_uuids([entry.execution_id for entry in finishes]),
        "tokens": of_integers([entry.token for entry in finishes]),
        "statuses": unless(Status.SUCCEEDED, "status", of_texts),
        "reasons": unless("", "reason", of_texts),
        "delays": unless(0.0, "retry_in", of_floats),
        "attempt_ids": of_uuids(
            [attempt_id(entry.execution_id, entry.number, entry.token) for entry in finishes]
        ),
        "outcomes": unless(AttemptOutcome.SUCCEEDED, "outcome", of_texts),
        "workers": of_texts([entry.worker for entry in finishes]),
        "started_at": of_moments([entry.started_at for entry in finishes]),
        "finished_at": of_moments([entry.finished_at for entry in finishes]),
        "response_status": of_integers([entry.response_status for entry in finishes]),
        "error_codes": unless("", "error_code", of_texts),
        "error_messages": unless("", "error_message", _of_messages),
        "timings": of_texts([entry.timings for entry in finishes]),
        "sealed": of_blobs([entry.sealed_response for entry in finishes]),
        "lost": unless(0, "lost", of_integers),
        "results": unless(None, "sealed_result", of_blobs),
    }


def _of_messages(values: list[str]) -> object:
    return of_texts([value[:1000] for value in values])
