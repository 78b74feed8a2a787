from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from executions.bulk import backfill_steps, steps
from executions.bulk.jobs import cancel_bulk_job, run_some
from executions.changes import changing
from executions.ledger import settling
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.bulk.backfills import let_go, made_by, make_backfill, minutely
from tests.executions.bulk.bulk import counts, run_job
from tests.executions.changes.changes import patch
from tests.factories import ACTOR, finish, make_task, release, start

Beside = Callable[[Callable[[], Any]], Any]
Stop = tuple[threading.Event, threading.Event]


@pytest.fixture
def task(alpha: Tenant) -> Task:
    return make_task(alpha, minutely())


def stop(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> Stop:
    """Stop the first call of a function behind what it does; return (is there, go on)."""
    there, go_on = threading.Event(), threading.Event()
    original = getattr(place, name)

    def wait(*arguments: Any, **named: Any) -> Any:
        done = original(*arguments, **named)
        if not there.is_set():
            there.set()
            assert go_on.wait(20)
        return done

    monkeypatch.setattr(place, name, wait)
    return there, go_on


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Stop a step when it has made executions and has not locked the task yet."""
    return stop(monkeypatch, backfill_steps, "_insert")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Stop a step when all is written and nothing is committed."""
    return stop(monkeypatch, steps, "_settle")


@pytest.mark.parametrize(
    ("end", "code"),
    [(changing.delete_task, "task_deleted"), (changing.cancel_task, "task_cancelled")],
)
def test_a_task_that_ends_before_its_step_does_leaves_no_execution(
    alpha: Tenant, task: Task, beside: Beside, made: Stop, end: Callable[..., Any], code: str
):
    job = make_backfill(task)
    there, go_on = made

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    end(alpha.id, task.id, actor=ACTOR)
    go_on.set()
    step.join()

    assert counts(run_job(job)) == (0, 61, 0)
    assert set(job.items.values_list("code", flat=True)) == {code}
    assert made_by(job) == []


def test_a_task_that_ends_behind_its_step_finds_what_the_step_has_made(
    alpha: Tenant, task: Task, beside: Beside, settled: Stop
):
    job = make_backfill(task)
    there, go_on = settled

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    deletion = beside(lambda: changing.delete_task(alpha.id, task.id, actor=ACTOR))
    assert deletion.waits_for_a_lock()
    go_on.set()
    step.join()
    deletion.join()

    assert counts(run_job(job)) == (61, 0, 0)
    assert {(row.status, row.reason) for row in made_by(job)} == {("CANCELLED", "task_deleted")}


def test_an_edit_before_the_step_ends_makes_it_begin_anew(task: Task, beside: Beside, made: Stop):
    job = make_backfill(task)
    there, go_on = made

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    patch(task, {"name": "Another"})
    go_on.set()
    step.join()

    assert counts(run_job(job)) == (61, 0, 0)
    assert {row.revision for row in made_by(job)} == {2}


def test_an_edit_behind_the_step_moves_what_it_has_made(task: Task, beside: Beside, settled: Stop):
    job = make_backfill(task)
    there, go_on = settled

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    edit = beside(lambda: patch(task, {"name": "Another"}))
    assert edit.waits_for_a_lock()
    go_on.set()
    step.join()
    edit.join()

    assert {row.revision for row in made_by(job)} == {2}


def test_two_workers_make_each_execution_once(task: Task, beside: Beside, made: Stop):
    job = make_backfill(task)
    there, go_on = made

    first = beside(lambda: run_some(job.id))
    assert there.wait(20)
    assert beside(lambda: run_some(job.id)).join() is False
    go_on.set()
    first.join()

    assert counts(run_job(job)) == (61, 0, 0)
    assert len(made_by(job)) == 61


def test_a_cancel_waits_for_the_step_under_way_and_cancels_what_it_made(
    alpha: Tenant, task: Task, beside: Beside, settled: Stop
):
    job = make_backfill(task)
    there, go_on = settled

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    cancel = beside(lambda: cancel_bulk_job(alpha.id, job.id, actor=ACTOR))
    assert cancel.waits_for_a_lock()
    go_on.set()
    step.join()
    cancel.join()

    assert {row.status for row in made_by(job)} == {"CANCELLED"}
    job.refresh_from_db()
    assert job.status == "CANCELLED"


def test_a_cancel_and_the_recorder_do_not_wait_for_each_other_in_a_circle(
    alpha: Tenant, task: Task, beside: Beside, monkeypatch: pytest.MonkeyPatch
):
    job = run_job(make_backfill(task))
    let_go(job, 5)
    rows = release()
    start(rows)
    there, go_on = stop(monkeypatch, settling, "settle")

    # The cancel has locked what waits and is about to settle the task.
    cancel = beside(lambda: cancel_bulk_job(alpha.id, job.id, actor=ACTOR))
    assert there.wait(20)
    recorder = beside(lambda: _finish(rows))
    assert recorder.waits_for_a_lock()
    go_on.set()
    cancel.join()
    recorder.join()

    states = [row.status for row in made_by(job)]
    assert (states.count("SUCCEEDED"), states.count("CANCELLED")) == (5, 56)


def _finish(rows: list[Any]) -> None:
    for row in rows:
        finish(row)
