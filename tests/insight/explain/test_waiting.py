from __future__ import annotations

from typing import Any

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.waiting import WAITS_FOR, waiting_for
from shared.instants import format_instant
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, reload
from tests.insight.explain.cast import (
    HOUR,
    MINUTE,
    minutely,
    owned,
    row,
    this_minute,
    working,
)
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db


def waits(found: Execution) -> dict[str, Any] | None:
    found.refresh_from_db()
    return waiting_for(found, reload(Task(pk=found.task_id)), database_now())


def told(found: Execution) -> tuple[str, str | None]:
    shown = waits(found)
    assert shown is not None
    assert shown["what"] in WAITS_FOR
    assert shown["detail"].endswith(".")
    return shown["what"], shown["until"]


def test_its_time_is_waited_for(alpha: Tenant):
    due_at = this_minute(9 * MINUTE)

    for status in ("PENDING", "QUEUED"):
        found = row(minutely(alpha), due_at, status)
        assert told(found) == ("due_time", format_instant(due_at))


def test_a_retry_is_waited_for(alpha: Tenant):
    due_at = this_minute(9 * MINUTE)
    found = row(minutely(alpha), this_minute(-MINUTE), "RETRYING", due_at=due_at, attempt=1)

    assert told(found) == ("retry", format_instant(due_at))


def test_the_end_of_a_pause_is_waited_for(alpha: Tenant):
    found, until = row(minutely(alpha), this_minute(-MINUTE)), this_minute(HOUR)
    changing.pause_task(alpha.id, found.task_id, Pause(until), actor=ACTOR)

    assert told(found) == ("pause", format_instant(until))


@pytest.mark.parametrize(
    ("schedule", "what"),
    [({"overlap_policy": "queue_all"}, "overlap"), ({"max_concurrent": 1}, "max_concurrent")],
)
def test_a_place_is_waited_for(alpha: Tenant, schedule: dict[str, Any], what: str):
    task = minutely(alpha, schedule)
    owned()
    found = row(task, this_minute(-MINUTE), gated=True, held=True)
    assert told(found) == (what, None)

    holder = row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True)
    assert holder.lease_expires_at is not None
    assert told(found) == (what, format_instant(holder.lease_expires_at))


def test_schedulers_redis_and_workers_are_waited_for(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    found = row(minutely(alpha), this_minute(-MINUTE))
    assert told(found) == ("scheduler", None)
    owned()
    assert told(found) == ("worker", None)
    working()
    assert told(found) == ("worker", None)
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)
    assert told(found) == ("redis", None)


def test_the_start_of_released_work_is_waited_for(alpha: Tenant):
    found = row(minutely(alpha), this_minute(-MINUTE), "QUEUED")

    assert found.lease_expires_at is not None
    assert told(found) == ("start", format_instant(found.lease_expires_at))


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED"])
def test_what_runs_or_has_ended_waits_for_nothing(alpha: Tenant, status: str):
    assert waits(row(minutely(alpha), this_minute(-MINUTE), status)) is None
