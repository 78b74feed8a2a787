from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import UnownedStretch
from insight.explain.answer import told
from insight.explain.evidence import Situation
from insight.explain.lateness import why_late
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import reload
from tests.insight.explain.cast import MINUTE, SECOND, minutely, row, this_minute

pytestmark = pytest.mark.django_db


def no_scheduler(task: Task, since: datetime, until: datetime) -> None:
    """Let the task's partition have had no scheduler in a stretch of time."""
    UnownedStretch.objects.create(partition=task.partition, since=since, until=until)


def of(task: Task, status: str = "SUCCEEDED", **fields: object) -> Situation:
    made = row(task, this_minute(-MINUTE), status, **fields)
    return Situation(reload(task), made.scheduled_for, database_now(), made)


def test_on_time_or_not_started_is_not_late(alpha: Tenant):
    task = minutely(alpha)

    assert why_late(of(task, started_at=this_minute(-MINUTE) + SECOND / 2)) == ""
    assert why_late(Situation(task, this_minute(), database_now(), None)) == ""


def test_jitter_is_no_delay(alpha: Tenant):
    task, due_at = minutely(alpha, {"jitter_seconds": 30}), this_minute(-MINUTE) + 20 * SECOND

    assert why_late(of(task, due_at=due_at, started_at=due_at)) == ""


def test_a_pause_in_between_is_named(alpha: Tenant):
    moment = this_minute(-MINUTE)
    task = minutely(alpha, resumed_at=moment + 20 * SECOND)
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    assert "its task was paused until" in why_late(of(task, **times))


def test_a_suspension_of_the_tenant_in_between_is_named(alpha: Tenant):
    moment = this_minute(-MINUTE)
    task = minutely(alpha, resumed_at=moment + 20 * SECOND, on_resume="misfire")
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    assert "its tenant was suspended until" in why_late(of(task, **times))


@pytest.mark.parametrize("reason", ["suspended_coalesced", "suspended_replayed"])
def test_what_runs_after_a_suspension_made_up_for_it(alpha: Tenant, reason: str):
    late = of(minutely(alpha), reason=reason, started_at=this_minute())

    assert "fell into a suspension of the tenant" in why_late(late)


@pytest.mark.parametrize("seconds", [5, 48])
@pytest.mark.parametrize("limit", [{}, {"max_concurrent": 1}])
def test_without_a_scheduler_the_outage_is_named_and_not_the_workers(
    alpha: Tenant, seconds: int, limit: dict[str, Any]
):
    due, task = this_minute(-MINUTE), minutely(alpha, limit)
    back = due + seconds * SECOND
    no_scheduler(task, due - 4 * SECOND, back)
    times: dict[str, Any] = {"queued_at": back, "started_at": back + SECOND / 10}

    words = why_late(of(task, **times))

    assert words == f"no scheduler ran from {told(due - 4 * SECOND)} to {told(back)}"


def test_what_was_put_into_the_ledger_after_an_outage_waited_for_its_turn(alpha: Tenant):
    due, task = this_minute(-MINUTE), minutely(alpha)
    back = due + 14 * SECOND
    no_scheduler(task, due - 4 * SECOND, back)
    turn = back + 3 * SECOND
    late = of(task, created_at=back, due_at=turn, queued_at=turn, started_at=turn)

    words = why_late(late)

    assert words.startswith("no scheduler ran from")
    assert words.endswith("it had its turn 3 s later, at the pace of its task")


def test_a_run_that_makes_up_for_missed_instants_tells_the_outage(alpha: Tenant):
    due, task = this_minute(-MINUTE), minutely(alpha)
    no_scheduler(task, due - 4 * SECOND, due + 48 * SECOND)

    words = why_late(of(task, reason="misfire_coalesced", started_at=due + 48 * SECOND))

    assert words.endswith(
        f"no scheduler ran, from {told(due - 4 * SECOND)} to " + told(due + 48 * SECOND)
    )


@pytest.mark.parametrize("until", [-1, 0])
def test_an_outage_that_was_over_when_it_was_due_is_not_blamed(alpha: Tenant, until: int):
    due, task = this_minute(-MINUTE), minutely(alpha)
    no_scheduler(task, due - 60 * SECOND, due + until * SECOND)
    times: dict[str, Any] = {"queued_at": due + 20 * SECOND, "started_at": due + 20 * SECOND}

    assert why_late(of(task, **times)).startswith("no worker had free capacity")


def test_the_outage_of_another_partition_is_not_blamed(alpha: Tenant):
    due, task = this_minute(-MINUTE), minutely(alpha)
    UnownedStretch.objects.create(
        partition=(task.partition + 1) % 256, since=due - MINUTE, until=due + MINUTE
    )
    times: dict[str, Any] = {"queued_at": due + 20 * SECOND, "started_at": due + 20 * SECOND}

    assert why_late(of(task, **times)).startswith("no worker had free capacity")


def test_with_a_limit_the_place_may_have_been_taken(alpha: Tenant):
    moment = this_minute(-MINUTE)
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    words = why_late(of(minutely(alpha, {"max_concurrent": 1}), **times))

    assert words.startswith("earlier runs held its place, or no worker had free capacity, from")
