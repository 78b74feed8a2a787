"""Backfills of tests: a task with a past, and the executions that were made of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from executions.bulk.backfill import Wanted, create_backfill
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from tasks.models import Task
from tests.factories import ACTOR, daily, make_task

#: An hour of the past, of which a task that fires every minute has 61 instants, both ends told.
HOUR = Wanted(
    datetime(2026, 3, 2, 10, 0, tzinfo=UTC),
    datetime(2026, 3, 2, 11, 0, tzinfo=UTC),
)


def minutely(**schedule: Any) -> dict[str, Any]:
    """Return the body of a task that fires every minute."""
    return daily(schedule={"cron_expression": "* * * * *", **schedule})


def make_backfill(task: Task, wanted: Wanted = HOUR, **parts: Any) -> BulkJob:
    return create_backfill(task.tenant_id, task.id, wanted, actor=ACTOR, **parts)


def made_by(job: BulkJob) -> list[Execution]:
    """Return the job's executions in the order of what they stand for."""
    return list(Execution.objects.filter(series_id=job.id).order_by("scheduled_for"))


def let_go(job: BulkJob, count: int | None = None) -> None:
    """Let the first executions have their turn, as the gate does."""
    ids = [row.id for row in made_by(job) if row.status == "PENDING"][:count]
    Execution.objects.filter(pk__in=ids).update(gated=False, held=False)


def past(hours: float) -> datetime:
    return database_now() - timedelta(hours=hours)


__all__ = ["HOUR", "let_go", "made_by", "make_backfill", "make_task", "minutely", "past"]
