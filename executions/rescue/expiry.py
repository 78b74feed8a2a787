"""End work that ran without a worker of ours, once its holder went silent.

A part of rescue, for its partitions. A receiver that answered 202 and then went silent has timed
out. A worker that leased over the API and then went silent is lost, which counts against the
payload only when the worker had begun to report. Work whose cancel was requested and whose grace is
over is cancelled.
"""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.choices import AttemptOutcome, Status
from executions.ledger import final_log, totals
from executions.ledger.final_log import Rescued
from executions.loop.clocks import database_now
from executions.transitions import Finish
from shared.sql import json_value, rows
from wire import retry
from wire.poison import refusal_after_loss
from wire.retry import Ended, Known, Verdict

_OVERRAN = "The job did not end within max_runtime_seconds."
_SILENT = "No heartbeat came before the lease ended."
_NEVER_BEGAN = "The worker leased it and was not heard of again."
_CANCELLED = "The job was cancelled, and did not end by itself."


class _Expired(NamedTuple):
    """A row of the statement, in its order."""

    id: UUID
    token: int
    attempt: int
    max_attempts: int
    lost_count: int
    worker: str
    cancel_requested: bool
    policy: Any
    started_at: datetime | None
    status: str
    leased: bool
    scheduled_for: datetime
    overran: bool | None
    tenant_id: UUID
    task_id: UUID
    trace_context: str | None

    @property
    def number(self) -> int:
        """The number of the attempt that ends, also when its start was not recorded."""
        return self.attempt + (1 if self.status == Status.QUEUED else 0)

    @property
    def lost(self) -> bool:
        """Whether a worker is lost; a worker whose job overran was alive."""
        return self.leased and not self.overran


def expire(bounds: dict[str, Any], limit: int) -> int:
    """End the attempts whose lease is over; return how many."""
    parameters = {**bounds, "limit": limit}
    # This runs often and mostly finds none: a transaction would cost two more round trips.
    if not rows("callback/expired", parameters):
        return 0
    with transaction.atomic():
        # Locked until the commit: a heartbeat that comes now finds its lease gone.
        found = [_Expired(*row) for row in rows("callback/expired", parameters)]
        now = database_now()
        ends = [_end_of(row, now) for row in found]
        moved = set(transitions.finish(ends))
        totals.add({totals.EXPIRED_EXECUTIONS: len(moved)})
        final_log.note_rescued(
            [
                _rescued(row, end)
                for row, end in zip(found, ends, strict=True)
                if row.id in moved and end.status == Status.RETRYING and not row.overran
            ]
        )
        return len(moved)


def _rescued(row: _Expired, end: Finish) -> Rescued:
    ids = (row.id, row.tenant_id, row.task_id, row.number, row.trace_context)
    return Rescued(*ids, end.error_code, row.worker)


def _end_of(row: _Expired, now: datetime) -> Finish:
    verdict = _verdict(row, now)
    outcome = AttemptOutcome.WORKER_LOST if row.lost else AttemptOutcome.TIMED_OUT
    return Finish(
        execution_id=row.id,
        token=row.token,
        number=row.number,
        status=verdict.status,
        outcome=AttemptOutcome.CANCELLED if row.cancel_requested else outcome,
        reason=verdict.reason,
        retry_in=verdict.retry_in,
        worker=row.worker,
        started_at=row.started_at,
        error_code="worker_lost" if row.lost else "heartbeat_lost",
        error_message=_message(row),
        lost=1 if row.lost and row.status == Status.RUNNING and not row.cancel_requested else 0,
    )


def _verdict(row: _Expired, now: datetime) -> Verdict:
    policy = json_value(row.policy)
    ended = Ended(row.number, row.max_attempts, row.scheduled_for, now, row.cancel_requested)
    if not row.lost:
        known = Known(refusal="" if "timeout" in policy.get("retry_on", ()) else "not_retryable")
    else:
        # Work that never began is no sign that its payload kills workers.
        before = row.lost_count if row.status == Status.RUNNING else -1
        known = Known(refusal=refusal_after_loss(before), reason="worker_lost")
    return retry.judge(ended, policy, random.random, known)


def _message(row: _Expired) -> str:
    if row.cancel_requested:
        return _CANCELLED
    if row.overran:
        return _OVERRAN
    return _NEVER_BEGAN if row.leased and row.status == Status.QUEUED else _SILENT
