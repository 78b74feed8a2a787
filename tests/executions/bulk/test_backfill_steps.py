from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from events.models import Event
from executions import transitions
from executions.bulk import actions, jobs, steps
from executions.bulk.actions import SetAction
from executions.bulk.backfill import Wanted
from executions.bulk.backfill_steps import (
    cancel_waiting,
    count_executions,
    executions_made_by,
    make_executions,
)
from executions.bulk.jobs import cancel_bulk_job
from executions.changes import changing
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from executions.transitions import Finish
from shared.exceptions import Conflict, Unavailable
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.bulk.backfills import HOUR, let_go, made_by, make_backfill, minutely, past
from tests.executions.bulk.bulk import counts, let_time_pass, outcomes, run_job, run_some
from tests.executions.changes.changes import patch, pause, resume
from tests.executions.gate.gated import make_look
from tests.factories import (
    ACTOR,
    every_second,
    finish,
    make_task,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from tests.support.events import subjects_of

pytestmark = pytest.mark.django_db

#: What of a task the making of executions must not touch.
_UNTOUCHED = (
    "cursor__next_run_at", "cursor__occurrence_count", "cursor__last_execution_id",
    "failure_streak",
    "status", "version",
)  # fmt: skip


@pytest.fixture
def task(alpha: Tenant) -> Task:
    return make_task(alpha, minutely())


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step make ten executions."""
    found = actions.action_of(BulkJob(kind="occurrences"))
    assert isinstance(found, SetAction)
    small = SetAction(found.apply, 10)
    monkeypatch.setattr(steps, "action_of", lambda _: small)
    monkeypatch.setattr(steps, "_CHUNK", 10)


def test_each_instant_is_an_execution_that_waits_for_its_turn(task: Task):
    job = run_job(make_backfill(task))

    rows = made_by(job)
    assert (job.status, counts(job), len(rows)) == ("COMPLETED", (61, 0, 0), 61)
    items = job.items.order_by("position").values_list("at", "item_id", "result_id")
    assert [(row.scheduled_for, row.id, row.id) for row in rows] == list(items)
    facts = {
        (r.trigger, r.status, r.reason, r.gated, r.held, r.priority, r.series_id, r.revision)
        for r in rows
    }
    assert facts == {("backfill", "PENDING", "", True, True, 7, job.id, 1)}
    assert (rows[0].max_attempts, rows[0].timeout_seconds) == (5, 30.0)
    assert (rows[0].pool, rows[0].partition) == (task.pool, task.partition)
    told = subjects_of("execution.materialized")
    assert {subject for subject, _ in told} == {row.id for row in rows}
    assert [of for _, of in told] == [task.id] * 61
    assert release() == []


@pytest.mark.moving_clock
def test_the_order_of_the_instants_is_the_order_of_their_turns(task: Task):
    job = run_job(make_backfill(task))

    due = [row.due_at for row in made_by(job)]
    assert due == sorted(due)
    assert len(set(due)) == 61
    assert due[0] == job.created_at
    assert due[-1] <= database_now()


def test_the_receiver_learns_the_instant_that_it_stands_for(task: Task):
    job = run_job(make_backfill(task))
    let_go(job, 1)

    (row,) = release()

    assert row.scheduled_for == made_by(job)[0].scheduled_for


def test_making_executions_leaves_the_task_alone(task: Task):
    before = Task.objects.filter(pk=task.pk).values(*_UNTOUCHED).get()

    run_job(make_backfill(task))

    assert Task.objects.filter(pk=task.pk).values(*_UNTOUCHED).get() == before


def test_two_backfills_of_a_range_are_two_series(task: Task):
    first, second = run_job(make_backfill(task)), run_job(make_backfill(task))

    assert len(made_by(first)) == len(made_by(second)) == 61
    assert Execution.objects.count() == 122


@pytest.mark.usefixtures("small_steps")
def test_a_worker_that_dies_in_a_step_leaves_nothing_half_done(task: Task, monkeypatch: Any):
    job = make_backfill(task)
    run_some(job.id)

    def fail(*_: object) -> None:
        raise OperationalError("planted")

    with monkeypatch.context() as patched:
        patched.setattr(steps, "_settle", fail)
        with pytest.raises(OperationalError):
            run_some(job.id)
    assert counts(job) == (10, 0, 0)
    assert len(made_by(job)) == 10

    assert counts(run_job(job)) == (61, 0, 0)
    assert len(made_by(job)) == 61


def test_a_step_done_again_meets_the_same_ids(task: Task):
    job = make_backfill(task)
    items: Any = list(job.items.order_by("position").values_list("position", "item_id", "at"))

    assert [make_executions(job, items[:40]), make_executions(job, items)] == ["", ""]

    assert len(made_by(job)) == 61
    assert len(subjects_of("execution.materialized")) == 61


@pytest.mark.usefixtures("small_steps")
def test_what_is_made_after_an_edit_runs_the_new_version(task: Task):
    job = make_backfill(task)
    run_some(job.id)
    limits = {"target": {"timeout_seconds": 20}, "retry_policy": {"max_attempts": 9}}
    patch(task, {"priority": 0, **limits})

    run_job(job)

    # A11: nothing of the old definition starts; those that waited already were moved to it.
    rows = made_by(job)
    assert {(row.revision, row.gated, row.priority) for row in rows} == {(2, True, 7)}
    assert {(row.max_attempts, row.timeout_seconds) for row in rows} == {(9, 20.0)}


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    ("end", "code"),
    [(changing.delete_task, "task_deleted"), (changing.cancel_task, "task_cancelled")],
)
def test_nothing_is_made_of_a_task_that_has_ended_meanwhile(
    task: Task, alpha: Tenant, end: Callable[..., Any], code: str
):
    job = make_backfill(task)
    run_some(job.id)
    end(alpha.id, task.id, actor=ACTOR)

    run_job(job)

    assert counts(job) == (10, 51, 0)
    assert outcomes(job)[10] == ("skipped", code)
    assert {(row.status, row.reason) for row in made_by(job)} == {("CANCELLED", code)}


def test_a_job_that_waited_for_days_is_made_within_the_ledgers_bounds(task: Task):
    job = make_backfill(task)
    # As if its system worker had been away since the day before yesterday.
    made = job.created_at - timedelta(days=2)
    BulkJob.objects.filter(pk=job.pk).update(created_at=made)
    job.refresh_from_db()

    run_job(job)

    rows = made_by(job)
    assert len(rows) == 61
    assert ledger.missing_days([made]) == []
    assert count_executions(job)["pending"] == 0  # their ids are of the day that was pretended


def test_the_counts_say_how_far_the_executions_are(task: Task):
    job = run_job(make_backfill(task))
    let_go(job, 4)
    rows = release()
    start(rows[:3])
    finish(rows[0])
    finish(rows[1], "FAILED", reason="attempts_exhausted")

    assert count_executions(job) == {
        "pending": 58, "running": 1, "succeeded": 1, "failed": 1, "cancelled": 0, "skipped": 0,
    }  # fmt: skip


def test_the_executions_of_a_job_are_its_tenants_alone(task: Task, alpha: Tenant, beta: Tenant):
    job = run_job(make_backfill(task))

    assert executions_made_by(alpha.id, job.id).count() == 61
    assert executions_made_by(beta.id, job.id).count() == 0


@pytest.mark.usefixtures("small_steps")
def test_cancelled_before_its_first_step_it_makes_nothing(task: Task, alpha: Tenant):
    job = make_backfill(task)

    cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert not run_some(job.id)
    assert counts(job) == (0, 61, 0)
    assert made_by(job) == []


@pytest.mark.usefixtures("small_steps")
def test_cancelled_between_steps_it_cancels_what_waits_and_makes_no_more(task: Task, alpha: Tenant):
    job = make_backfill(task)
    run_some(job.id)

    cancelled = cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert (cancelled.status, cancelled.reason) == ("CANCELLED", "job_cancelled")
    assert not run_some(job.id)
    assert counts(job) == (10, 51, 0)
    assert {(r.status, r.reason, r.gated) for r in made_by(job)} == {
        ("CANCELLED", "job_cancelled", False)
    }


def test_cancelled_after_all_is_made_what_waits_never_starts_and_what_runs_goes_on(
    task: Task, alpha: Tenant
):
    job = run_job(make_backfill(task))
    let_go(job, 6)
    rows = release()
    start(rows[:2])
    finish(rows[0])

    cancelled = cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert (cancelled.status, counts(job)) == ("CANCELLED", (61, 0, 0))
    found = count_executions(job)
    assert (found["succeeded"], found["running"], found["cancelled"]) == (1, 1, 59)
    assert audited(job.id, "bulk_job.cancelled")["actor"] == ACTOR.name
    let_go(job)
    assert release() == []
    # What was handed to a worker and not begun is void: it cannot begin any more.
    assert set(pass_guard(rows[2:])) == {0}
    with pytest.raises(Conflict) as refused:
        cancel_bulk_job(alpha.id, job.id, actor=ACTOR)
    assert refused.value.code == "already_final"


def test_what_a_worker_has_begun_unseen_counts_as_running(task: Task):
    job = run_job(make_backfill(task))
    let_go(job, 2)
    rows = release()
    pass_guard(rows[:1])

    assert cancel_waiting(job) == 60

    found = count_executions(job)
    assert (found["running"], found["cancelled"]) == (1, 60)


def test_a_job_whose_executions_have_all_ended_is_final(task: Task, alpha: Tenant):
    job = run_job(make_backfill(task))
    let_go(job)
    rows = release()
    start(rows)
    for row in rows:
        finish(row)

    with pytest.raises(Conflict):
        cancel_bulk_job(alpha.id, job.id, actor=ACTOR)
    job.refresh_from_db()
    assert job.status == "COMPLETED"


def test_without_redis_released_work_keeps_the_job_from_being_cancelled(
    task: Task, alpha: Tenant, no_redis: Callable[[], None]
):
    job = run_job(make_backfill(task))
    let_go(job, 2)
    release()
    no_redis()

    with pytest.raises(Unavailable):
        cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    job.refresh_from_db()
    assert job.status == "COMPLETED"
    assert count_executions(job)["cancelled"] == 0


def test_more_than_one_statement_takes_are_cancelled_in_parts(
    task: Task, alpha: Tenant, monkeypatch: Any
):
    job = run_job(make_backfill(task))
    monkeypatch.setattr("executions.transitions._CANCEL_AT_ONCE", 25)

    cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert count_executions(job)["cancelled"] == 61
    assert Event.objects.filter(name="execution.cancelled", task_id=task.id).count() == 61


@pytest.mark.moving_clock
@pytest.mark.parametrize("most", [1, 4])
def test_no_more_run_at_a_time_than_allowed_and_each_runs_once_in_order(task: Task, most: int):
    ten = Wanted(HOUR.start, HOUR.start + timedelta(minutes=9), most)
    job = run_job(make_backfill(task, ten))
    look, begun = make_look(), []

    while count_executions(job)["pending"]:
        look()
        rows = release()
        assert 0 < len(rows) <= most
        start(rows)
        begun += [row.scheduled_for for row in sorted(rows, key=lambda row: row.scheduled_for)]
        look()
        assert release() == []
        for row in rows:
            finish(row)

    assert begun == [HOUR.start + timedelta(minutes=n) for n in range(10)]
    assert count_executions(job)["succeeded"] == 10


@pytest.mark.moving_clock
def test_while_its_task_is_paused_a_backfill_waits(task: Task):
    job = run_job(make_backfill(task))
    look = make_look()
    pause(task)

    look()
    assert release() == []
    resume(task)
    look()

    assert len(release()) == 10
    assert len(made_by(job)) == 61


def test_a_schedule_that_ends_while_a_backfill_waits_completes_its_task(alpha: Tenant):
    task = make_task(
        alpha, every_second(schedule={**every_second()["schedule"], "max_occurrences": 1})
    )
    prepare()
    job = run_job(make_backfill(task, Wanted(past(1), past(0.99))))
    (row,) = release()
    start([row])

    finish(row)

    assert reload(task).status == "COMPLETED"
    let_go(job)
    late = release()
    start(late)
    for row in late:
        finish(row)
    assert reload(task).status == "COMPLETED"


def test_a_last_occurrence_that_ends_together_with_a_backfills_completes_its_task(
    alpha: Tenant, monkeypatch: Any
):
    schedule = {"cron_expression": "* * * * * *", "max_occurrences": 1}
    task = make_task(alpha, every_second(schedule=schedule))
    prepare()
    # A minute later, so that the backfill's ids come behind that of the last occurrence.
    later = database_now() + timedelta(minutes=1)
    monkeypatch.setattr(jobs, "database_now", lambda: later)
    job = make_backfill(task, Wanted(HOUR.start, HOUR.start + timedelta(seconds=1)))
    let_time_pass(job)
    let_go(run_job(job))
    rows = release(window_seconds=90)
    start(rows)
    now = database_now()

    # The recorder's batch: of all that ended, what the schedule made says how the task stands.
    ended = [
        Finish(row.id, row.token, 1, "SUCCEEDED", "SUCCEEDED", started_at=now, finished_at=now)
        for row in rows
    ]
    transitions.finish(ended)

    assert len(rows) == 3
    assert reload(task).status == "COMPLETED"


def test_scheduled_work_goes_before_a_backfill(alpha: Tenant):
    every = make_task(alpha, every_second(priority=5))
    job = run_job(make_backfill(make_task(alpha, minutely())))
    let_go(job)
    prepare()

    released = release(5, window_seconds=60)

    # Told by their ids: a whole minute may be near, and then the other task has an occurrence too.
    made = {row.id for row in made_by(job)}
    assert [row.id in made for row in released] == [False] * 5 + [True] * 5
    assert reload(every).status == "SCHEDULED"
