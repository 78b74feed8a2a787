from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.db import OperationalError

from events.audit import verify
from events.models import Event
from executions.bulk import steps
from executions.bulk.jobs import cancel_bulk_job, wake_waiting
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.bulk.bulk import (
    counts,
    let_time_pass,
    make_job,
    outcomes,
    run_job,
    run_some,
)
from tests.factories import ACTOR, daily, make_execution, make_task, release
from tests.support.letters import make_letters

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the jobs that were handed to a worker."""
    found: list[str] = []
    monkeypatch.setattr(steps, "publish_system_job", lambda _, job_id: found.append(job_id))
    return found


def idle_for(job: BulkJob, seconds: float) -> None:
    then = database_now() - timedelta(seconds=seconds)
    BulkJob.objects.filter(pk=job.pk).update(woken_at=then)


def test_a_thousand_letters_are_each_retried_once(alpha: Tenant):
    letters = make_letters(alpha, 1000)

    job = run_job(make_job(alpha))

    assert (job.status, counts(job)) == ("COMPLETED", (1000, 0, 0))
    parents = Execution.objects.filter(trigger="retry").values_list("parent_id", flat=True)
    assert len(parents) == 1000
    assert set(parents) == {letter.execution_id for letter in letters}
    assert verify(alpha.id)[1] is None


def test_a_step_is_bounded_and_says_that_more_is_left(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 5)
    job = make_job(alpha)
    monkeypatch.setattr(steps, "_CHUNK", 2)

    assert run_some(job.id)
    assert counts(job) == (2, 0, 0)
    assert (job.status, job.position) == ("RUNNING", 2)
    assert [run_some(job.id), run_some(job.id)] == [True, False]
    assert counts(job) == (5, 0, 0)


def test_the_end_is_noted_audited_and_told(alpha: Tenant):
    make_letters(alpha, 1)
    job = run_job(make_job(alpha))

    assert job.created_at <= job.started_at <= job.finished_at  # type: ignore[operator]  # both are set
    after = audited(job.id, "bulk_job.completed")["after"]
    assert after == {"done": 1, "skipped": 0, "failed": 0}
    told = Event.objects.filter(name="bulk_job.changed", subject_id=job.id)
    assert told.count() == 2
    letters = Event.objects.filter(name="dead_letter.changed")
    assert [event.subject_id for event in letters] == [item.item_id for item in job.items.all()]


def test_an_ended_or_unknown_job_has_nothing_left(alpha: Tenant):
    make_letters(alpha, 1)
    job = run_job(make_job(alpha))

    assert not run_some(job.id)
    assert not run_some(uuid4())
    assert counts(job) == (1, 0, 0)


def test_a_worker_that_dies_in_a_step_leaves_nothing_half_done(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 4)
    job = make_job(alpha)
    monkeypatch.setattr(steps, "_CHUNK", 2)
    run_some(job.id)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(steps, "_settle", die)
        with pytest.raises(KeyboardInterrupt):
            run_some(job.id)
    assert counts(job) == (2, 0, 0)
    assert Execution.objects.filter(trigger="retry").count() == 2

    run_job(job)
    assert counts(job) == (4, 0, 0)
    assert Execution.objects.filter(trigger="retry").count() == 4


def test_a_database_error_undoes_the_step_and_is_raised(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 2)
    job = make_job(alpha)

    def fail(*_: object) -> None:
        raise OperationalError("planted")

    with monkeypatch.context() as patched:
        patched.setattr(steps, "_settle", fail)
        with pytest.raises(OperationalError):
            run_some(job.id)

    assert counts(job) == (0, 0, 0)
    assert job.status == "PENDING"


@pytest.mark.logs("bulk_job.postponed")
def test_without_redis_a_job_waits_and_has_done_nothing(
    alpha: Tenant, no_redis: Callable[[], None]
):
    execution = make_execution(alpha)
    release()
    job = make_job(alpha, "cancel", "executions")
    no_redis()

    assert not run_some(job.id)

    execution.refresh_from_db()
    assert (execution.status, counts(job)) == ("QUEUED", (0, 0, 0))
    assert job.next_at > database_now()
    assert job.woken_at is None


@pytest.fixture
def stands_still(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Let the steps be taken in one moment, after all that the test makes; return it."""
    moment = database_now() + timedelta(minutes=1)
    monkeypatch.setattr(steps, "database_now", lambda: moment)
    return moment


def test_a_rate_lets_so_many_a_second_go(alpha: Tenant, stands_still: datetime):
    make_letters(alpha, 8)
    job = make_job(alpha, rate_per_second=3)
    BulkJob.objects.filter(pk=job.pk).update(next_at=stands_still)

    assert not run_some(job.id)

    assert counts(job) == (3, 0, 0)
    assert job.woken_at is None
    assert job.next_at == stands_still + timedelta(seconds=1)
    assert not run_some(job.id)
    assert counts(job) == (3, 0, 0)


def test_a_late_wake_up_makes_up_for_two_seconds_at_most(alpha: Tenant, stands_still: datetime):
    make_letters(alpha, 20)
    job = make_job(alpha, rate_per_second=3)
    BulkJob.objects.filter(pk=job.pk).update(next_at=stands_still - timedelta(hours=1))

    run_job(job)

    assert counts(job) == (9, 0, 0)


def test_a_slow_rate_takes_one_at_a_time(alpha: Tenant, stands_still: datetime):
    make_letters(alpha, 2)
    job = make_job(alpha, rate_per_second=0.1)

    run_job(job)

    assert counts(job) == (1, 0, 0)
    assert job.next_at >= stands_still + timedelta(seconds=8)


def test_a_schedule_is_set_item_by_item(alpha: Tenant):
    for _ in range(3):
        make_task(alpha, daily())

    job = run_job(make_job(alpha, "set", "tasks", set={"schedule": {"jitter_seconds": 5}}))

    assert outcomes(job) == [("done", "")] * 3
    assert job.status == "COMPLETED"


def test_a_cancelled_job_is_not_gone_on_with(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 3)
    job = make_job(alpha)
    monkeypatch.setattr(steps, "_CHUNK", 1)
    run_some(job.id)

    cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert not run_some(job.id)
    assert counts(job) == (1, 2, 0)


def test_a_job_that_nobody_took_is_handed_on_again(alpha: Tenant, sent: list[str]):
    make_letters(alpha, 1)
    job = make_job(alpha)

    wake_waiting()
    assert sent == []
    idle_for(job, 6)
    wake_waiting()
    assert sent == [str(job.id)]
    wake_waiting()
    assert sent == [str(job.id)]


def test_a_job_that_waits_is_handed_on_when_it_is_due(alpha: Tenant, sent: list[str]):
    make_letters(alpha, 2)
    job = run_job(make_job(alpha, rate_per_second=0.5))
    later = database_now() + timedelta(minutes=1)
    BulkJob.objects.filter(pk=job.pk).update(next_at=later)

    seconds = wake_waiting()
    assert sent == []
    assert seconds == 3
    let_time_pass(job)
    wake_waiting()

    assert sent == [str(job.id)]


def test_ended_jobs_are_left_alone(alpha: Tenant, sent: list[str]):
    make_letters(alpha, 1)
    idle_for(run_job(make_job(alpha)), 60)

    assert wake_waiting() == 3
    assert sent == []


def test_a_new_job_is_handed_on_after_the_commit(
    alpha: Tenant, sent: list[str], on_commit: Callable[..., Any]
):
    make_letters(alpha, 1)

    with on_commit(execute=True):
        job = make_job(alpha)
        assert sent == []

    assert sent == [str(job.id)]


def test_a_broker_that_is_away_is_only_logged(
    alpha: Tenant, monkeypatch: Any, caplog: pytest.LogCaptureFixture
):
    def refuse(*_: object) -> None:
        raise redis.ConnectionError("planted")

    monkeypatch.setattr(steps, "publish_system_job", refuse)

    steps.hand_on(uuid4())

    assert "bulk_job.not_handed_on" in caplog.text
