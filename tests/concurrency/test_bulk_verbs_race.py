"""Batches of tasks that are paused, resumed, cancelled or deleted, against all who move work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from events.audit import verify
from executions.bulk import steps
from executions.bulk.jobs import run_some
from executions.models import Execution
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tenants.models import Tenant
from tests.concurrency.scheduler_beside import prepare_and_hand_out
from tests.executions.bulk.bulk import counts, make_job, outcomes, run_job
from tests.executions.changes.changes import cancel, delete, patch, pause, resume
from tests.factories import (
    daily,
    every_second,
    executions_of,
    finish,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from wire.messages import Claimed

Beside = Callable[[Callable[[], Any]], Any]
Stopped = tuple[threading.Event, threading.Event]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    """Stop a step when its effects are written and not committed; return (is there, go on)."""
    there, go_on = threading.Event(), threading.Event()
    settle = steps._settle

    def wait(*arguments: Any) -> None:
        there.set()
        assert go_on.wait(20)
        settle(*arguments)

    monkeypatch.setattr(steps, "_settle", wait)
    return there, go_on


def may_start() -> int:
    """Return how many executions could still be handed out."""
    return Execution.objects.filter(
        status__in=["PENDING", "RETRYING", "QUEUED"], held=False
    ).count()


def test_nothing_of_tasks_that_are_being_paused_is_claimed_or_written(
    alpha: Tenant, beside: Beside, stopped: Stopped
):
    for _ in range(3):
        make_task(alpha, every_second())
    prepare()
    job = make_job(alpha, "pause", "tasks")
    there, go_on = stopped

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    assert beside(release).join() == []
    beside(prepare).join()
    go_on.set()
    step.join()

    prepare()
    assert release() == []
    assert may_start() == 0
    assert counts(job) == (3, 0, 0)


@pytest.mark.parametrize("verb", ["pause", "cancel", "delete"])
@pytest.mark.parametrize("worker", ["waits", "starts", "ends"])
def test_what_is_claimed_before_the_tasks_are_locked_is_taken_back(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, worker: str, verb: str
):
    tasks = [make_task(alpha, once()) for _ in range(3)]
    lock = TaskQuerySet.locked
    handed: list[Claimed] = []

    def lock_late(tasks: TaskQuerySet) -> TaskQuerySet:
        if not handed:
            handed.extend(beside(lambda: prepare_and_hand_out(worker)).join())
        return lock(tasks)

    monkeypatch.setattr(TaskQuerySet, "locked", lock_late)

    assert counts(run_job(make_job(alpha, verb, "tasks"))) == (3, 0, 0)

    assert len(handed) == 3
    assert pass_guard(handed[1:]) == [0, 0]
    assert may_start() == 0
    kept = "PENDING" if verb == "pause" else "CANCELLED"
    first = {"waits": kept, "starts": "RUNNING", "ends": kept}[worker]
    if (verb, worker) == ("pause", "ends"):
        first = "RETRYING"
    states = {task.id: executions_of(task)[0].status for task in tasks}
    assert states.pop(handed[0].task_id) == first
    assert set(states.values()) == {kept}


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "delete"])
def test_an_edit_that_is_under_way_is_not_lost(alpha: Tenant, beside: Beside, verb: str):
    tasks = [make_task(alpha, every_second()) for _ in range(3)]
    prepare()
    if verb == "resume":
        for task in tasks:
            pause(task)
    job = make_job(alpha, verb, "tasks")

    with transaction.atomic():
        patch(tasks[1], {"name": "Edited", "priority": 1})
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    assert counts(job) == (3, 0, 0)
    edited = reload(tasks[1])
    assert (edited.name, edited.priority, edited.version) == ("Edited", 1, 2)
    assert edited.status == reload(tasks[0]).status
    assert verify(alpha.id)[1] is None


def test_an_edit_that_waits_for_a_batch_finds_what_that_did(
    alpha: Tenant, beside: Beside, stopped: Stopped
):
    tasks = [make_task(alpha, every_second()) for _ in range(3)]
    prepare()
    job = make_job(alpha, "pause", "tasks", note="All.")
    there, go_on = stopped

    step = beside(lambda: run_some(job.id))
    assert there.wait(20)
    edit = beside(lambda: patch(tasks[1], {"name": "Edited"}))
    assert edit.waits_for_a_lock()
    go_on.set()
    step.join()
    edit.join()

    edited = reload(tasks[1])
    assert (edited.name, edited.status, edited.pause_note) == ("Edited", "PAUSED", "All.")
    assert may_start() == 0


def test_fields_that_are_set_and_an_edit_are_both_kept(alpha: Tenant, beside: Beside):
    tasks = [make_task(alpha, every_second()) for _ in range(3)]
    prepare()
    job = make_job(alpha, "set", "tasks", set={"priority": 1})

    with transaction.atomic():
        patch(tasks[1], {"name": "Edited", "labels": {"a": "b"}})
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    edited = reload(tasks[1])
    assert (edited.name, edited.labels, edited.priority) == ("Edited", {"a": "b"}, 1)
    assert [reload(task).version for task in tasks] == [2, 3, 2]
    rows = Execution.objects.filter(status="PENDING").values_list("revision", "task__version")
    assert {revision == version for revision, version in rows} == {True}


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "delete"])
def test_a_task_that_is_being_deleted_is_skipped(alpha: Tenant, beside: Beside, verb: str):
    tasks = [make_task(alpha, daily()) for _ in range(3)]
    job = make_job(alpha, verb, "tasks")

    with transaction.atomic():
        delete(tasks[1])
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    assert outcomes(job)[1] == ("skipped", "not_found")
    assert counts(job) == (2, 1, 0)


def test_a_task_that_ends_meanwhile_is_not_paused(alpha: Tenant, beside: Beside):
    tasks = [make_task(alpha, once()) for _ in range(3)]
    prepare()
    handed = release()
    start(handed)
    job = make_job(alpha, "pause", "tasks")

    with transaction.atomic():
        # The recorder holds the executions and their tasks.
        for row in handed:
            finish(row)
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    assert {reload(task).status for task in tasks} == {"COMPLETED"}
    assert set(outcomes(job)) == {("skipped", "conflict")}


def test_a_task_that_is_being_cancelled_is_not_resumed(alpha: Tenant, beside: Beside):
    tasks = [make_task(alpha, daily()) for _ in range(3)]
    for task in tasks:
        pause(task)
    job = make_job(alpha, "resume", "tasks")

    with transaction.atomic():
        cancel(tasks[1])
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    assert [reload(task).status for task in tasks].count("CANCELLED") == 1
    assert counts(job) == (2, 1, 0)


def test_batches_and_single_verbs_over_the_same_tasks_do_not_wait_in_a_circle(
    alpha: Tenant, beside: Beside
):
    tasks = [make_task(alpha, every_second()) for _ in range(12)]
    prepare()
    jobs = [make_job(alpha, verb, "tasks") for verb in ("pause", "resume", "pause", "resume")]

    def single() -> None:
        for task in reversed(tasks):
            pause(task)
            resume(task)
            patch(task, {"priority": 2})

    working = [beside(lambda job=job: run_job(job)) for job in jobs]  # type: ignore[misc]  # bound
    for one in [*working, beside(single)]:
        one.join()

    assert [counts(job) for job in jobs] == [(12, 0, 0)] * 4
    assert set(Task.objects.values_list("version", "priority")) == {(2, 2)}
    assert verify(alpha.id)[1] is None


def test_executions_of_a_batch_that_end_meanwhile_are_final(alpha: Tenant, beside: Beside):
    for _ in range(3):
        make_task(alpha, once())
    prepare()
    handed = release()
    start(handed)
    job = make_job(alpha, "cancel", "executions")

    with transaction.atomic():
        finish(handed[0])
        step = beside(lambda: run_some(job.id))
        assert step.waits_for_a_lock()
    step.join()

    assert sorted(outcomes(job)) == [("done", ""), ("done", ""), ("skipped", "already_final")]
    asked = Execution.objects.filter(cancel_requested_at__isnull=False)
    assert asked.count() == 2
