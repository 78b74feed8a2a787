from __future__ import annotations

from datetime import timedelta

import pytest

from executions.bulk import steps
from executions.bulk.canary import Verdict, judge
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, let_time_pass, make_job, outcomes, run_job
from tests.support.canaries import end_retries
from tests.support.letters import make_letters

pytestmark = pytest.mark.django_db


def test_a_canary_is_tried_first_and_waited_for(alpha: Tenant):
    make_letters(alpha, 6)

    job = run_job(make_job(alpha, canary=2))

    assert (job.status, counts(job)) == ("RUNNING", (2, 0, 0))
    let_time_pass(job)
    assert counts(run_job(job)) == (2, 0, 0)
    assert judge(job) is Verdict.WAIT


def test_a_good_canary_lets_the_rest_go(alpha: Tenant):
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2))
    end_retries("SUCCEEDED")

    let_time_pass(job)
    job = run_job(job)

    assert (job.status, counts(job), job.canary_passed) == ("COMPLETED", (6, 0, 0), True)


def test_a_bad_canary_stops_the_job(alpha: Tenant):
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2))
    end_retries("FAILED", 1)

    let_time_pass(job)
    job = run_job(job)

    # One failure is more than none, whatever comes of the other one.
    assert (job.status, job.reason) == ("STOPPED", "too_many_failures")
    assert counts(job) == (2, 4, 0)
    assert outcomes(job)[2:] == [("skipped", "too_many_failures")] * 4
    assert job.finished_at is not None
    assert Execution.objects.filter(trigger="retry").count() == 2


def test_as_many_failures_as_allowed_let_the_rest_go(alpha: Tenant):
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2, stop_on_failure_rate=0.5))
    end_retries("FAILED", 1)
    let_time_pass(job)
    assert run_job(job).status == "RUNNING"
    end_retries("SUCCEEDED")

    let_time_pass(job)

    assert run_job(job).status == "COMPLETED"


def test_executions_that_are_not_kept_any_more_are_not_waited_for(alpha: Tenant):
    make_letters(alpha, 3)
    job = run_job(make_job(alpha, canary=2))
    Execution.objects.filter(trigger="retry").delete()

    let_time_pass(job)

    assert run_job(job).status == "COMPLETED"


def test_a_canary_of_everything_is_waited_for_by_nobody(alpha: Tenant):
    make_letters(alpha, 2)

    assert run_job(make_job(alpha, canary=5)).status == "COMPLETED"


def test_too_many_failures_stop_a_job_without_a_canary(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_letters(alpha, 45)
    moment = database_now() + timedelta(minutes=1)
    monkeypatch.setattr(steps, "database_now", lambda: moment)
    job = make_job(alpha, stop_on_failure_rate=0.5, rate_per_second=40)
    BulkJob.objects.filter(pk=job.pk).update(next_at=moment)
    job = run_job(job)
    assert counts(job) == (40, 0, 0)
    assert judge(job) is Verdict.GO
    end_retries("FAILED", 19)
    assert judge(job) is Verdict.GO
    end_retries("FAILED", 1)

    let_time_pass(job)
    job = run_job(job)

    assert (job.status, counts(job)) == ("STOPPED", (40, 5, 0))


def test_a_job_without_limits_is_never_judged(alpha: Tenant):
    assert judge(BulkJob(options={}, position=5)) is Verdict.GO
