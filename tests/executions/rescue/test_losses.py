from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.choices import AttemptOutcome
from executions.rescue import losses

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
STARTED = NOW - timedelta(minutes=2)
POLICY = {
    "max_attempts": 3, "backoff": "fixed", "delay_seconds": 7, "max_delay_seconds": 60,
    "jitter": "none", "retry_on_timeout": True,
}  # fmt: skip


def lost(attempt: int = 1, lost_count: int = 0, *, cancelled: bool = False) -> tuple[Any, ...]:
    return (
        UUID(int=7), 42, attempt, 3, lost_count, "w1", cancelled, POLICY, STARTED, STARTED,
    )  # fmt: skip


def test_what_was_lost_is_tried_again_and_counts_against_its_payload():
    end = losses.end_of(lost(), NOW)

    assert (end.execution_id, end.token, end.number, end.lost) == (UUID(int=7), 42, 1, 1)
    assert (end.status, end.outcome) == ("RETRYING", AttemptOutcome.WORKER_LOST)
    assert (end.worker, end.started_at) == ("w1", STARTED)
    assert end.error_code == "worker_lost"
    assert end.retry_in > 0


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (lost(attempt=3), "FAILED"),
        (lost(cancelled=True), "CANCELLED"),
        # It has taken too many workers with it.
        (lost(lost_count=9), "FAILED"),
    ],
)
def test_what_is_not_tried_again_ends(row: tuple[Any, ...], status: str):
    end = losses.end_of(row, NOW)

    assert (end.status, end.retry_in) == (status, 0.0)
