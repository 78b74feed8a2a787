"""Spread the tasks that start in one minute: one bulk job gives them a jitter.

Every door calls this. ``tasks.hot_minutes`` chooses the tasks. Each changes as by an edit of its
own, so that no execution of its old version starts afterwards.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from executions.bulk.jobs import create_bulk_job
from executions.loop.clocks import database_now
from executions.models import BulkJob
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.hot_minutes import Meeting, find_meeting

MAX_JITTER_SECONDS = 86_400


def plan_spread(tenant_id: UUID, at: datetime) -> Meeting:
    """Return the tasks that start in the minute of ``at`` and the jitter proposed for them.

    Raise InvalidInput for a minute that has passed or is too far ahead. Changes nothing.
    """
    return find_meeting(tenant_id, at, now=database_now())


def spread_minute(
    tenant_id: UUID,
    at: datetime,
    *,
    actor: Actor,
    jitter_seconds: float | None = None,
    expected_count: int | None = None,
) -> BulkJob:
    """Make the bulk job that gives the tasks of a minute a jitter, by default the proposed one.

    Raise InvalidInput, ``nothing_matches`` where no task can be spread, and Conflict
    ``scope_changed`` when not exactly ``expected_count`` can.
    """
    found = plan_spread(tenant_id, at)
    if not found.task_ids and not expected_count:
        message = "No task that can be spread starts in this minute."
        error = InvalidInput([FieldError("#/at", "nothing_matches", message)], message)
        error.code = "nothing_matches"
        raise error
    seconds = found.jitter_seconds if jitter_seconds is None else jitter_seconds
    return create_bulk_job(
        tenant_id,
        kind="tasks",
        action="set",
        filters={"ids": found.task_ids},
        options={"set": {"schedule": {"jitter_seconds": seconds}}},
        name=f"Spread {format_instant(found.at)}",
        actor=actor,
        expected_count=len(found.task_ids) if expected_count is None else expected_count,
    )


def present_meeting(found: Meeting, jitter_seconds: float | None = None) -> dict[str, Any]:
    """Return the effect of a spread; ``limited``: there are more tasks than one job spreads."""
    return {
        "at": format_instant(found.at),
        "tasks": len(found.task_ids),
        "left_out": found.left_out,
        "limited": found.limited,
        "jitter_seconds": found.jitter_seconds if jitter_seconds is None else jitter_seconds,
    }
