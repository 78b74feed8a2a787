"""The system worker: bulk jobs come to their exact end, whatever dies in between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from executions.bulk.jobs import wake_waiting
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from tests.executions.bulk.bulk import counts, make_job
from tests.factories import make_tenant
from tests.support.letters import make_letters
from tests.support.processes import Process, Processes, loops_database_url
from tests.support.waiting import until

pytestmark = pytest.mark.slow

NAME = "punctual-system-worker"


def start(run: Processes) -> Process:
    return run.start(
        "worker",
        "--pool",
        "system",
        DATABASE_URL=loops_database_url(),
        PROCESS_KIND="system-worker",
    )


def new_job(count: int, **options: Any) -> BulkJob:
    alpha = make_tenant()
    make_letters(alpha, count)
    return make_job(alpha, **options)


def has_done(job: BulkJob, count: int) -> bool:
    job.refresh_from_db()
    return job.done_count >= count


def let_message_be_missed(job: BulkJob) -> None:
    long_ago = database_now() - timedelta(minutes=1)
    BulkJob.objects.filter(pk=job.pk).update(woken_at=long_ago)


def require_exact_end(job: BulkJob, count: int) -> None:
    until(lambda: has_done(job, count))
    assert (job.status, counts(job)) == ("COMPLETED", (count, 0, 0))
    parents = Execution.objects.filter(trigger="retry").values_list("parent_id", flat=True)
    assert len(parents) == len(set(parents)) == count


def test_a_job_is_done_by_its_message_and_goes_on_by_itself(run: Processes) -> None:
    start(run)

    job = new_job(450)

    require_exact_end(job, 450)


def test_a_worker_that_is_killed_amid_a_job_leaves_it_to_the_next(run: Processes) -> None:
    worker = start(run)
    # So slowly that it is never done before the kill, however late that comes.
    job = new_job(1200, rate_per_second=1)
    until(lambda: has_done(job, 1))

    worker.kill()
    assert not has_done(job, 1200)
    BulkJob.objects.filter(pk=job.pk).update(options={}, next_at=database_now())
    start(run)
    let_message_be_missed(job)
    wake_waiting()

    require_exact_end(job, 1200)


def test_sessions_that_are_cut_are_replaced(run: Processes) -> None:
    worker = start(run)
    job = new_job(1200)
    until(lambda: has_done(job, 1))

    until(_cut_sessions)
    let_message_be_missed(job)
    wake_waiting()

    require_exact_end(job, 1200)
    assert worker.popen.poll() is None


def _cut_sessions() -> bool:
    """Cut the worker's sessions; between two steps of the job it may have none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
            [NAME],
        )
        return bool(cursor.fetchall())
