from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.statistics import overview, present, running_now
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import (
    ACTOR,
    daily,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
)

pytestmark = pytest.mark.django_db


def make_overdue(execution: Execution, seconds: float) -> None:
    due = database_now() - timedelta(seconds=seconds)
    Execution.objects.filter(pk=execution.pk).update(due_at=due)


def test_nothing_is_open_in_an_empty_tenant(alpha: Tenant):
    found = overview(alpha.id)

    assert (found.due_now, found.late, found.queued, found.running, found.retrying) == (0,) * 5
    assert (found.oldest_due_seconds, found.success_rate) == (None, None)
    assert (found.start_delay.p50, found.dead_letters_open) == (None, 0)
    assert found.exact
    assert abs(found.at - database_now()) < timedelta(seconds=30)


def test_open_work_is_counted_by_its_state(alpha: Tenant):
    for status in ("PENDING", "PENDING", "QUEUED", "RUNNING", "RETRYING"):
        make_execution(alpha, status)

    found = overview(alpha.id)

    # Handing the later ones out hands the earlier ones out, too.
    assert found.due_now + found.queued == 3
    assert (found.running, found.retrying) == (1, 1)


def test_work_a_second_past_its_time_is_late_whether_queued_or_not(alpha: Tenant):
    queued = make_execution(alpha, "QUEUED")
    waiting = make_execution(alpha)
    # The test's transaction began a moment ago, and its time stands still.
    make_overdue(queued, 5)
    make_overdue(waiting, 2)

    found = overview(alpha.id)

    assert (found.due_now, found.queued, found.late) == (1, 1, 2)
    assert found.oldest_due_seconds is not None
    assert 4 <= found.oldest_due_seconds < 60


def test_held_work_of_a_paused_task_is_not_due(alpha: Tenant):
    execution = make_execution(alpha)
    changing.pause_task(alpha.id, execution.task_id, Pause(), actor=ACTOR)

    assert overview(alpha.id).due_now == 0


def test_the_last_hour_comes_from_what_was_recorded(alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "SUCCEEDED")
    make_dead_letter(alpha)

    found = overview(alpha.id)

    assert (found.succeeded_last_hour, found.failed_last_hour) == (3, 1)
    assert found.success_rate == 0.75
    assert found.start_delay.count == 4
    assert found.start_delay.p95 is not None
    assert found.dead_letters_open == 1


def test_another_tenants_work_is_not_counted(alpha: Tenant, beta: Tenant):
    for status in ("PENDING", "QUEUED", "RUNNING", "SUCCEEDED"):
        make_execution(beta, status)
    make_dead_letter(beta)

    found = overview(alpha.id)

    assert (found.due_now, found.queued, found.running, found.succeeded_last_hour) == (0,) * 4
    assert found.dead_letters_open == 0
    assert running_now(alpha.id) == []


def test_more_work_than_one_look_takes_in_is_said(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    for number in range(3):
        make_task(alpha, once(name=str(number)))
    prepare()
    Execution.objects.update(due_at=database_now() - timedelta(seconds=5))
    monkeypatch.setattr(present, "_SCAN", 2)

    found = overview(alpha.id)

    assert (found.due_now, found.exact) == (2, False)


def test_what_runs_is_listed_longest_first(alpha: Tenant):
    younger = make_execution(alpha, "RUNNING", once(name="Younger"))
    older = make_execution(alpha, "RUNNING", once(name="Older"))
    # The test's transaction may have begun long before, and its now() with it.
    earlier = database_now() - timedelta(days=1)
    Execution.objects.filter(pk=older.pk).update(started_at=earlier, timeout_seconds=200_000.0)

    found = running_now(alpha.id)

    assert [run.id for run in found] == [older.id, younger.id]
    first = found[0]
    assert (first.task_name, first.attempt, first.worker) == ("Older", 1, "worker-1")
    assert first.running_seconds > timedelta(hours=23).total_seconds()
    assert first.remaining_seconds == pytest.approx(first.timeout_seconds - first.running_seconds)
    assert not first.cancel_requested
    assert len(running_now(alpha.id, limit=1)) == 1


def test_a_task_that_is_not_due_is_not_open_work(alpha: Tenant):
    make_task(alpha, daily())
    prepare()

    assert overview(alpha.id).due_now == 0
