from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from executions.bulk import steps
from executions.bulk.jobs import cancel_bulk_job, run_some
from executions.models import Execution
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, make_job, run_job
from tests.factories import ACTOR, finish, release, start
from tests.support.letters import make_letters

Beside = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Stop a step when its effects are written and not committed; return (is there, go on)."""
    there, go_on = threading.Event(), threading.Event()
    settle = steps._settle

    def wait(*arguments: Any) -> None:
        there.set()
        assert go_on.wait(20)
        settle(*arguments)

    monkeypatch.setattr(steps, "_settle", wait)
    return there, go_on


def test_two_workers_never_do_the_same_item(
    alpha: Tenant, beside: Beside, stopped: tuple[threading.Event, threading.Event]
):
    make_letters(alpha, 6)
    job = make_job(alpha)
    there, go_on = stopped

    first = beside(lambda: run_some(job.id))
    assert there.wait(20)
    # The second one does not wait: the job is in good hands.
    assert beside(lambda: run_some(job.id)).join() is False
    go_on.set()
    first.join()

    assert counts(run_job(job)) == (6, 0, 0)
    assert Execution.objects.filter(trigger="retry").count() == 6


def test_many_workers_end_a_job_together(alpha: Tenant, beside: Beside, monkeypatch: Any):
    make_letters(alpha, 30)
    monkeypatch.setattr(steps, "_CHUNK", 2)
    job = make_job(alpha)

    def work() -> None:
        while run_some(job.id):
            pass

    for worker in [beside(work) for _ in range(3)]:
        worker.join()

    assert counts(run_job(job)) == (30, 0, 0)
    assert Execution.objects.filter(trigger="retry").count() == 30


def test_a_cancel_waits_for_the_step_under_way(
    alpha: Tenant,
    beside: Beside,
    stopped: tuple[threading.Event, threading.Event],
    monkeypatch: Any,
):
    make_letters(alpha, 5)
    monkeypatch.setattr(steps, "_CHUNK", 2)
    job = make_job(alpha)
    there, go_on = stopped

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    cancel = beside(lambda: cancel_bulk_job(alpha.id, job.id, actor=ACTOR))
    assert cancel.waits_for_a_lock()
    go_on.set()
    step.join()
    cancel.join()

    assert counts(run_job(job)) == (2, 3, 0)
    assert job.status == "CANCELLED"
    assert Execution.objects.filter(trigger="retry").count() == 2


def test_two_jobs_over_the_same_letters_retry_each_once(alpha: Tenant, beside: Beside):
    make_letters(alpha, 40)
    jobs = [make_job(alpha), make_job(alpha)]

    for worker in [beside(lambda job=job: run_job(job)) for job in jobs]:  # type: ignore[misc]  # bound
        worker.join()

    done = [counts(job)[0] for job in jobs]
    assert sum(done) == 40
    assert sum(counts(job)[1] for job in jobs) == 40
    assert Execution.objects.filter(trigger="retry").count() == 40


def test_a_step_and_the_recorder_do_not_wait_for_each_other_in_a_circle(
    alpha: Tenant, beside: Beside, stopped: tuple[threading.Event, threading.Event]
):
    make_letters(alpha, 6)
    there, go_on = stopped
    go_on.set()
    run_job(make_job(alpha))
    rows = release()
    start(rows)
    job = make_job(alpha, "retry", "executions")
    go_on.clear()
    there.clear()

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    # It holds executions of these tasks and wants the tasks, which the step holds.
    recorder = beside(lambda: _finish(rows))
    assert recorder.waits_for_a_lock()
    go_on.set()
    step.join()
    recorder.join()

    assert counts(run_job(job)) == (6, 0, 0)
    assert Execution.objects.filter(status="SUCCEEDED").count() == 6


def _finish(rows: list[Any]) -> None:
    with transaction.atomic():
        for row in rows:
            finish(row)
