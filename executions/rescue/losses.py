"""End the attempt of work whose worker went silent while it ran."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from executions.choices import AttemptOutcome
from executions.ledger.final_log import Rescued
from executions.transitions import Finish
from shared.sql import json_value
from wire import retry
from wire.poison import refusal_after_loss
from wire.retry import Ended, Known


def rescued(row: tuple[Any, ...], end: Finish) -> Rescued:
    """Return the facts of a lost attempt that is tried again, for its log line."""
    return Rescued(row[0], row[10], row[11], row[2], row[12], end.error_code, row[5])


def end_of(row: tuple[Any, ...], now: datetime) -> Finish:
    """Return the end of an attempt, a row of ``rescue/lost_running``."""
    execution, token, attempt, max_attempts, lost_count, worker, cancelled = row[:7]
    policy, started_at, scheduled_for = json_value(row[7]), row[8], row[9]
    verdict = retry.judge(
        Ended(attempt, max_attempts, scheduled_for, now, cancelled),
        policy,
        random.random,
        Known(refusal=refusal_after_loss(lost_count), reason="worker_lost"),
    )
    return Finish(
        execution_id=cast(UUID, execution),
        token=token,
        number=attempt,
        status=verdict.status,
        outcome=AttemptOutcome.WORKER_LOST,
        reason=verdict.reason,
        retry_in=verdict.retry_in,
        worker=worker,
        started_at=started_at,
        error_code="worker_lost",
        error_message="The worker went silent while it ran this attempt.",
        lost=1,
    )
