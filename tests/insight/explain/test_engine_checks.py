from __future__ import annotations

from datetime import datetime

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership import fence
from insight.explain.engine_checks import bulk_job, misfire, overlap, prepared, retry
from insight.explain.evidence import Situation
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task, once, reload
from tests.insight.explain.cast import (
    HOUR,
    MINUTE,
    SECOND,
    minutely,
    owned,
    row,
    this_minute,
)

pytestmark = pytest.mark.django_db


def of(found: Execution) -> Situation:
    task = reload(Task(pk=found.task_id))
    return Situation(task, found.scheduled_for, database_now(), found)


def at(task: Task, moment: datetime) -> Situation:
    return Situation(reload(task), moment, database_now(), None)


def test_what_lies_far_ahead_is_prepared_later_and_by_whom_is_told(alpha: Tenant):
    owned()

    check = prepared(at(minutely(alpha), this_minute(5 * MINUTE)))

    assert check.ok is None
    assert "is owned by scheduler-1@host under epoch 41" in check.evidence


def test_what_waits_for_its_time_is_prepared_whoever_lives(alpha: Tenant):
    check = prepared(of(row(minutely(alpha), this_minute(9 * MINUTE))))

    assert check.ok is True
    assert "has no owner" in check.evidence


def test_a_scheduler_that_is_silent_lets_go_when_its_lease_ends(alpha: Tenant):
    owned(silent=MINUTE)

    check = prepared(of(row(minutely(alpha), this_minute(-MINUTE))))

    assert check.ok is False
    assert check.until is not None


@pytest.mark.parametrize("reason", ["misfire_replayed", "misfire_coalesced"])
def test_a_missed_instant_that_ran_passed(alpha: Tenant, reason: str):
    assert misfire(of(row(minutely(alpha), this_minute(-MINUTE), reason=reason))).ok is True


def test_a_one_time_task_runs_late_whatever_the_policy(alpha: Tenant):
    task = make_task(alpha, once(this_minute(-9 * MINUTE)))

    check = misfire(at(task, this_minute(-9 * MINUTE)))

    assert check.ok is True
    assert "runs late" in check.evidence


def test_the_latest_missed_instant_is_the_one_that_runs(alpha: Tenant):
    latest = this_minute(-MINUTE)
    task = minutely(alpha, next_run_at=latest - 8 * MINUTE)

    def judged(moment: datetime) -> bool | None:
        # One moment for both, and none that is about to turn: a second more is another latest.
        return misfire(Situation(task, moment, latest + 30 * SECOND, None)).ok

    assert judged(latest) is True
    assert judged(latest - MINUTE) is False


def test_what_fell_into_a_pause_is_not_judged_as_missed(alpha: Tenant):
    moment = this_minute(-9 * MINUTE)
    paused = minutely(alpha, next_run_at=moment, status="PAUSED", paused_at=moment)
    resumed = minutely(alpha, next_run_at=moment, resumed_at=this_minute(-MINUTE))

    assert prepared(at(paused, moment)).ok is None
    for task in (paused, resumed):
        check = misfire(at(task, moment))
        assert check.ok is None
        assert "whose on_resume, skip, decides" in check.evidence


def test_with_places_left_the_gate_is_about_to_decide(alpha: Tenant):
    task = minutely(alpha, {"max_concurrent": 2})
    row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True)

    check = overlap(of(row(task, this_minute(-MINUTE), gated=True, held=True)))

    assert check.ok is None
    assert "about to decide" in check.evidence


def test_many_holders_and_those_before_in_line_are_counted(alpha: Tenant):
    task = minutely(alpha, {"max_concurrent": 2, "overlap_policy": "queue_all"})
    for minute in (5, 4):
        row(task, this_minute(-minute * MINUTE), "RUNNING", counted=True)
    row(task, this_minute(-3 * MINUTE), gated=True, held=True)

    check = overlap(of(row(task, this_minute(-MINUTE), gated=True, held=True)))

    assert check.ok is False
    assert "and 1 more hold the 2 places" in check.evidence
    assert check.evidence.endswith("max_concurrent is 2. 1 wait before it.")
    assert check.until is None


def test_a_place_is_free_when_the_only_holder_has_to_end(alpha: Tenant):
    task = minutely(alpha, {"max_concurrent": 1})
    holder = row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True)

    check = overlap(of(row(task, this_minute(-MINUTE), gated=True, held=True)))

    assert check.until == holder.lease_expires_at
    assert check.fix is not None
    assert check.fix.call == f"POST /v1/executions/{holder.pk}/cancel"


def test_a_running_one_that_makes_room_is_no_blocked_one(alpha: Tenant):
    found = of(row(minutely(alpha), this_minute(-MINUTE), "RUNNING", reason="overlap_cancelled"))

    assert overlap(found).ok is not False


def test_a_bulk_job_that_is_gone_is_no_error(alpha: Tenant):
    task = minutely(alpha)

    check = bulk_job(of(row(task, this_minute(-MINUTE), series_id=task.pk)))

    assert check.ok is None


def test_a_retry_that_is_due_waits_no_longer(alpha: Tenant):
    parts = {"attempt": 2, "error_code": "worker_lost"}
    found = of(row(minutely(alpha), this_minute(-MINUTE), "RETRYING", **parts))

    check = retry(found)

    assert check.ok is True
    assert "attempt 3 of 5 is due" in check.says
    assert "Attempt 2 ended with worker_lost." in check.evidence


def test_how_long_ago_it_was_missed_is_told(alpha: Tenant):
    moment = this_minute(-HOUR)
    late = {"reason": "misfire_skipped", "created_at": moment + 90 * SECOND}

    check = misfire(of(row(minutely(alpha), moment, "SKIPPED", **late)))

    assert "by 1 m 30 s" in check.evidence


def test_behind_the_fence_nothing_is_looked_after_and_the_way_out_is_told(alpha: Tenant):
    task = minutely(alpha)
    with connection.cursor() as cursor:
        fence.hold(cursor)

    check = prepared(of(row(task, this_minute(-MINUTE))))

    assert check.ok is False
    assert "held back" in check.says
    assert check.fix is not None
    assert "restore --confirm" in check.fix.text
