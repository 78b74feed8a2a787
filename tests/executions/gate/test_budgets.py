"""Runs within the budget of their task are admitted and counted; others are skipped (F9)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from events.models import Event
from executions.changes import changing
from executions.gate import budgets, stage
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import retry_execution, run_task
from shared.exceptions import Conflict
from tasks.budgets.purses import Purse, Purses
from tasks.calendars import limits_of
from tasks.models import Task, TaskBudget
from tasks.transitions import Pause
from tasks.validation.bodies import parse_patch
from tenants.models import Tenant
from tests.executions.gate.gated import Look, come_due, make_look, prepare_more, states
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_task,
    prepare,
    release,
    reload,
    start,
)
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db

SKIPPED = "budget_exceeded"


@pytest.fixture
def look(db: None) -> Look:
    return make_look()


def budgeted(tenant: Tenant, due: int, limit: float = 2, unit: str = "runs", **parts: Any) -> Task:
    """Return a task with a budget for the day and so many instants that have just come due."""
    schedule = {"every": "PT1S", **parts.pop("schedule", {})}
    entry = {"unit": unit, "limit": limit, "per": "day"}
    task = make_task(tenant, every_second(schedule=schedule, budget=[entry], **parts))
    prepare()
    come_due(task, due)
    return reload(task)


def used(task: Task) -> float:
    return float(TaskBudget.objects.get(task_id=task.id).used)


def reasons(task: Task) -> list[str]:
    return [row.reason for row in executions_of(task)]


def test_as_many_runs_as_the_budget_has_are_admitted_and_the_rest_is_skipped(
    alpha: Tenant, look: Look
):
    task = budgeted(alpha, 5)

    assert look().done == 5

    assert states(task) == ["admitted"] * 2 + ["SKIPPED"] * 3
    assert reasons(task) == ["", "", SKIPPED, SKIPPED, SKIPPED]
    assert used(task) == 2
    assert Event.objects.filter(name="budget.exceeded", subject_id=task.id).count() == 1


def test_a_look_later_in_the_period_admits_nothing(alpha: Tenant, look: Look):
    task = budgeted(alpha, 2)
    look()
    prepare_more(task)

    look()

    assert states(task)[2:] == ["SKIPPED"]
    assert used(task) == 2


def test_the_next_period_admits_again(alpha: Tenant, look: Look):
    task = budgeted(alpha, 3)
    look()
    TaskBudget.objects.update(resets_at=database_now() - timedelta(seconds=1))
    prepare_more(task)

    look()

    assert states(task)[-1] == "admitted"
    assert used(task) == 1


def test_what_is_behind_an_overlap_policy_counts_when_it_gets_its_place(alpha: Tenant, look: Look):
    task = budgeted(alpha, 3, schedule={"overlap_policy": "queue_all"})

    look()

    assert states(task) == ["admitted", "waits", "waits"]
    assert used(task) == 1
    finish_first()
    look()
    finish_first()
    look()
    assert states(task) == ["SUCCEEDED", "SUCCEEDED", "SKIPPED"]
    assert used(task) == 2


def finish_first() -> None:
    [claimed] = release()
    start([claimed])
    finish(claimed)


def test_what_the_budget_does_not_allow_cancels_no_run_for_its_place(alpha: Tenant, look: Look):
    task = budgeted(alpha, 1, limit=1, schedule={"overlap_policy": "cancel_running"})
    look()
    start(release())
    prepare_more(task)

    look()

    assert [row.status for row in executions_of(task)] == ["RUNNING", "SKIPPED"]
    assert executions_of(task)[0].cancel_requested_at is None


@recounts("budget.used")
def test_seconds_are_those_of_each_attempt(alpha: Tenant, look: Look):
    task = budgeted(alpha, 2, limit=5, unit="seconds")
    look()
    first, second = release()
    start([first, second])
    now = database_now()

    finish(first, "RETRYING", started_at=now - timedelta(seconds=2), finished_at=now)
    assert used(task) == 2
    finish(second, started_at=now - timedelta(seconds=3), finished_at=now)
    assert used(task) == 5

    prepare_more(task)
    look()
    assert executions_of(task, "SKIPPED")[0].reason == SKIPPED


def test_units_are_what_the_receiver_reports(alpha: Tenant, look: Look):
    task = budgeted(alpha, 2, limit=10, unit="tokens")
    look()
    first, second = release()
    start([first, second])

    finish(first, cost={"tokens": 7.5, "eur": 3.0})
    assert used(task) == 7.5
    finish(second, cost={"tokens": 7.5})

    assert used(task) == 15
    prepare_more(task)
    look()
    assert executions_of(task, "SKIPPED")[0].reason == SKIPPED


def test_a_run_by_hand_counts_and_is_refused_when_nothing_is_left(alpha: Tenant, look: Look):
    task = budgeted(alpha, 1, limit=2)
    run_task(alpha.id, task.id, None, actor=ACTOR)
    look()
    assert used(task) == 2

    with pytest.raises(Conflict, match="2 of 2 runs") as refused:
        run_task(alpha.id, task.id, None, actor=ACTOR)

    assert refused.value.code == SKIPPED
    assert Execution.objects.filter(task_id=task.id, trigger="manual").count() == 1


def test_a_retry_by_hand_is_a_run(alpha: Tenant, look: Look):
    task = budgeted(alpha, 1, limit=1)
    look()
    finish_first()
    [ended] = executions_of(task, "SUCCEEDED")

    with pytest.raises(Conflict, match="budget"):
        retry_execution(alpha.id, ended.id, None, actor=ACTOR)


def test_an_edit_that_takes_back_an_admitted_run_gives_it_back(alpha: Tenant, look: Look):
    task = budgeted(alpha, 1, limit=1)
    look()
    limits = limits_of(alpha.id)

    changing.edit_task(
        alpha.id,
        task.id,
        lambda current, now: parse_patch(current, {"name": "Other"}, now=now, limits=limits),
        actor=ACTOR,
    )
    assert used(task) == 0
    assert states(task) == ["waits"]
    look()

    assert states(task) == ["admitted"]
    assert used(task) == 1


def test_a_paused_task_spends_and_skips_nothing(alpha: Tenant, look: Look):
    task = budgeted(alpha, 3, limit=1)
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    assert look().done == 0

    assert states(task) == ["waits"] * 3


def test_a_task_that_another_session_has_locked_waits_for_the_next_look(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    task = budgeted(alpha, 1)
    monkeypatch.setattr("executions.gate.stage.lock_free", lambda tasks: {})

    counts = look()

    assert (counts.done, states(task)) == (0, ["waits"])
    assert counts.next_in <= 0.1


def due(*triggers: str) -> list[Any]:
    return [SimpleNamespace(trigger=trigger, gave_way=False) for trigger in triggers]


class Room(Purses):
    """Budgets that leave so many runs."""

    room = 2


def test_what_was_counted_when_it_was_asked_for_needs_no_room():
    rows = due("manual", "schedule", "retry", "backfill", "schedule")

    within, beyond = budgets.split(Room(), rows)

    assert within == rows[:4]
    assert beyond == rows[4:]


def test_a_run_that_gave_way_is_counted_already():
    back = SimpleNamespace(trigger="schedule", gave_way=True)
    rows = [*due("schedule", "schedule"), back]

    within, beyond = budgets.split(Room(), rows)

    assert (within, beyond) == (rows, [])
    purses = Purses([purse("runs")])
    budgets.count(purses, rows)
    assert purses.all[0].used == 2


def purse(unit: str) -> Purse:
    moment = database_now()
    return Purse(
        UUID(int=1), unit, UUID(int=2), "day", Decimal(9), Decimal(0), moment, False, False
    )


def test_two_groups_of_a_task_share_what_is_left():
    purses = Room()

    budgets.split(purses, due("schedule"))
    within, beyond = budgets.split(purses, due("backfill", "backfill"))

    assert (len(within), len(beyond)) == (1, 1)


def test_a_budget_that_came_after_the_first_look_is_asked_in_the_next(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    task = budgeted(alpha, 2, limit=1)
    real, seen = stage._standings, []

    def before_the_edit(keys: Any) -> Any:
        seen.append(keys)
        found = real(keys)
        return (
            {k: replace(v, budgeted=False) for k, v in found.items()} if seen == [keys] else found
        )

    monkeypatch.setattr(stage, "_standings", before_the_edit)

    assert look().done == 0
    look()

    assert states(task) == ["admitted", "SKIPPED"]
    assert used(task) == 1


def test_the_newest_instant_replaces_the_run_with_what_is_left(alpha: Tenant, look: Look):
    task = budgeted(alpha, 2, limit=1, schedule={"overlap_policy": "cancel_running"})

    look()

    assert states(task) == ["SKIPPED", "admitted"]
    assert reasons(task) == ["overlap_skipped", ""]


def test_what_finds_no_place_is_skipped_for_that_while_something_is_left(alpha: Tenant, look: Look):
    task = budgeted(alpha, 3, limit=2, schedule={"overlap_policy": "skip"})

    look()

    assert reasons(task) == ["", "overlap_skipped", "overlap_skipped"]
