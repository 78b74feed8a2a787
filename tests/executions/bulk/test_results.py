from __future__ import annotations

import pytest

from executions.bulk import results
from executions.bulk.results import (
    count_results,
    makes_executions,
    results_text,
    with_open_executions,
)
from executions.choices import Status
from executions.models import BulkJob, Execution
from tenants.models import Tenant
from tests.executions.bulk.backfills import make_backfill, minutely
from tests.executions.bulk.bulk import let_time_pass, make_job, run_job
from tests.factories import ApiClient, make_task
from tests.support.canaries import end_retries
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.letters import make_letters
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


@pytest.fixture
def stopped(alpha: Tenant) -> BulkJob:
    """Return a retry of six letters that its canary of two has stopped."""
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2))
    end_retries("FAILED")
    let_time_pass(job)
    return run_job(job)


def recount(job: BulkJob) -> dict[str, int]:
    """Return what became of what the items made, one by one."""
    found: dict[str, int] = {}
    for item in job.items.all():
        if item.result_id is None:
            continue
        status = Execution.objects.get(pk=item.result_id).status
        found[status] = found.get(status, 0) + 1
    return found


def test_a_job_that_its_canary_stopped_says_what_failed(stopped: BulkJob, client: ApiClient):
    counts = count_results(stopped)

    assert (stopped.status, stopped.done_count, stopped.failed_count) == ("STOPPED", 2, 0)
    assert recount(stopped) == {"FAILED": 2}
    assert counts is not None
    assert (counts["failed"], sum(counts.values())) == (2, 2)
    shown = client.get(f"/v1/bulk-jobs/{stopped.id}").json()
    assert shown["executions"] == counts
    said = call("bulk", "show", str(stopped.id))
    assert "made     failed 2" in said.out
    document = read_document("bulk-show", call("bulk", "show", str(stopped.id), "--json").out)
    assert document["executions"] == counts


@recounts("bulk.executions")
def test_every_state_of_what_was_made_is_counted(alpha: Tenant):
    make_letters(alpha, 7)
    job = run_job(make_job(alpha))
    made = list(Execution.objects.filter(trigger="retry").order_by("id"))
    states = ["SUCCEEDED", "SUCCEEDED", "FAILED", "CANCELLED"]
    for execution, status in zip(made, states, strict=False):
        Execution.objects.filter(pk=execution.pk).update(
            status=status, finished_at=execution.created_at
        )
    made[-1].delete()

    assert count_results(job) == {
        "pending": 2, "running": 0, "succeeded": 2, "failed": 1, "cancelled": 1, "skipped": 0,
        "gone": 1,
    }  # fmt: skip
    assert sum(recount_of(job).values()) == 6


def recount_of(job: BulkJob) -> dict[str, int]:
    made = [item.result_id for item in job.items.all() if item.result_id is not None]
    kept = Execution.objects.filter(pk__in=made)
    return {status: kept.filter(status=status).count() for status in Status}


def test_of_a_large_job_the_latest_are_looked_at(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    make_letters(alpha, 5)
    job = run_job(make_job(alpha))
    monkeypatch.setattr(results, "MOST_LOOKED_AT", 3)

    counts = count_results(job)

    assert counts is not None
    assert sum(counts.values()) == 3


def test_a_job_that_makes_nothing_has_no_results(alpha: Tenant):
    make_letters(alpha, 1)
    job = run_job(make_job(alpha, "resolve"))

    assert not makes_executions(job)
    assert count_results(job) is None


def test_a_completed_backfill_whose_executions_wait_says_so(alpha: Tenant):
    task = make_task(alpha, minutely())
    job = run_job(make_backfill(task))
    assert job.status == "COMPLETED"

    said = call("bulk", "show", str(job.id)).out

    assert with_open_executions([job]) == {job.id}
    assert "COMPLETED (every execution is made, not every one has ended)" in said
    Execution.objects.filter(series_id=job.id).update(
        status="SUCCEEDED", finished_at=job.created_at, held=False, gated=False
    )
    assert with_open_executions([job]) == set()
    assert "not every one" not in call("bulk", "show", str(job.id)).out
    assert with_open_executions([]) == set()


def test_counts_are_told_without_zeros():
    assert results_text({"succeeded": 3, "failed": 2, "gone": 0}) == "succeeded 3, failed 2"
    assert results_text({"succeeded": 0}) == "none"
