"""What waits for the gate when its task is paused, edited, cancelled, or at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executions.changes.cancellation import cancel_execution
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import run_task
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes.changes import cancel, delete, patch, pause, resume
from tests.executions.gate.gated import Look, limited, make_look, running, states
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_task,
    once,
    prepare,
    release,
    reload,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def look(db: None) -> Look:
    return make_look()


def test_a_pause_keeps_what_waits_and_resuming_lets_the_gate_decide(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 1, overlap_policy="queue_all")
    pause(task)
    finish(claimed)

    assert look().next_in > 1.0
    assert states(task)[-1] == "waits"
    resume(task)
    assert release() == []
    look()

    assert states(task)[-1] == "admitted"
    assert len(release()) == 1


def test_what_was_let_go_before_a_pause_is_held_like_all_other_work(alpha: Tenant, look: Look):
    task = limited(alpha, overlap_policy="skip")
    look()

    pause(task)
    assert release() == []
    resume(task)

    assert len(release()) == 1


def test_a_waiting_execution_can_be_cancelled(alpha: Tenant, look: Look):
    task, _ = running(alpha, look, 1, overlap_policy="queue_all")

    cancel_execution(alpha.id, executions_of(task)[-1].id, actor=ACTOR)

    row = executions_of(task)[-1]
    assert (row.status, row.gated) == ("CANCELLED", False)


@pytest.mark.parametrize("end", [cancel, delete])
def test_the_end_of_a_task_cancels_what_waits(
    alpha: Tenant, look: Look, end: Callable[[Task], Any]
):
    task, _ = running(alpha, look, 2, overlap_policy="queue_all")

    end(task)

    assert states(task) == ["RUNNING", "CANCELLED", "CANCELLED"]


def test_without_its_policy_what_waits_goes_at_once(
    alpha: Tenant, look: Look, on_commit: Callable[..., Any]
):
    task, _ = running(alpha, look, 2, overlap_policy="queue_all")

    with on_commit() as callbacks:
        patch(task, {"schedule": {"overlap_policy": "allow"}})

    assert states(task) == ["RUNNING", "admitted", "admitted"]
    assert len(release()) == 2
    assert callbacks


def test_a_new_policy_holds_for_what_is_prepared_and_counts_what_runs(alpha: Tenant, look: Look):
    task, _ = running(alpha, look, 1, max_concurrent=None)
    assert states(task) == ["RUNNING", "admitted"]

    patch(task, {"schedule": {"overlap_policy": "skip"}})
    assert states(task) == ["RUNNING", "waits"]
    look()

    assert states(task) == ["RUNNING", "SKIPPED"]


def test_a_raised_limit_lets_more_go(alpha: Tenant, look: Look):
    task, _ = running(alpha, look, 3, max_concurrent=1)

    patch(task, {"schedule": {"max_concurrent": 3}})
    look()

    assert states(task) == ["RUNNING", "admitted", "admitted", "waits"]


def test_an_edit_during_a_pause_lets_nothing_go(alpha: Tenant, look: Look):
    task, _ = running(alpha, look, 1, overlap_policy="queue_all")
    pause(task)

    patch(task, {"schedule": {"overlap_policy": "allow"}})

    assert release() == []
    resume(task)
    assert len(release()) == 1


@pytest.mark.parametrize("kind", ["recurring", "once"])
def test_a_task_whose_last_instant_is_skipped_is_at_its_end(alpha: Tenant, look: Look, kind: str):
    body = once() if kind == "once" else every_second()
    body["schedule"] |= {"overlap_policy": "skip"}
    body["schedule"] |= {"max_occurrences": 1} if kind == "recurring" else {}
    task = make_task(alpha, body)
    run_task(alpha.id, task.id, None, actor=ACTOR)
    prepare()
    Execution.objects.filter(gated=True).update(due_at=database_now())

    look()

    assert Execution.objects.get(trigger="schedule").status == "SKIPPED"
    assert reload(task).status == "COMPLETED"
