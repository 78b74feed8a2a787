from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from insight.explain.answer import Check
from insight.explain.estimates import error_of, is_by_due_time, why_none
from insight.explain.explanation import explain_task
from tenants.models import Tenant
from tests.factories import daily, make_task
from tests.support.ended_rows import ended
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


@recounts("explain.estimate_error")
def test_the_error_is_how_late_the_latest_starts_were(alpha: Tenant):
    task = make_task(alpha, daily())
    delays = [3.0, 1, 2, 400, 5, 6, 7, 8, 9, 10]
    for number, delay in enumerate(delays, start=1):
        ended(task, database_now() - timedelta(minutes=number), delay_ms=delay)
    ended(task, database_now() - timedelta(minutes=30), "SKIPPED")

    found = error_of(task)

    assert found is not None
    assert (found.p50_ms, found.p90_ms, found.count) == (6, 10, 10)


def test_a_task_that_never_started_has_no_error(alpha: Tenant):
    assert error_of(make_task(alpha, daily())) is None


def test_only_an_estimate_by_the_due_time_is_checked(alpha: Tenant):
    task = make_task(alpha, daily())
    ended(task, database_now() - timedelta(minutes=3), delay_ms=4)
    now = database_now()

    explained = explain_task(task, task.next_run_at, now)

    assert explained.estimated_start == task.next_run_at
    assert explained.no_estimate == ""
    assert explained.estimate_error is not None
    assert explained.estimate_error.p50_ms == 4
    assert not is_by_due_time(now, Check("retry", None, "later", not_yet=True))
    assert not is_by_due_time(None, None)


def test_why_there_is_no_estimate_is_told():
    assert "a worker is free" in why_none(Check("workers", False, "none is free"))
    assert why_none(None) == why_none(Check("outcome", False, "over"))
