"""Runs that a budget alone limits are admitted as early as dispatch releases work."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.changes import changing
from executions.gate import stage
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.conf import conf
from tasks.budgets.purses import read
from tasks.calendars import limits_of
from tasks.models import Task, TaskBudget
from tasks.transitions import Pause
from tasks.validation.bodies import parse_patch
from tenants.models import Tenant
from tests.executions.gate.gated import Look, make_look, states
from tests.factories import ACTOR, every_second, make_task, prepare, reload

pytestmark = pytest.mark.django_db


@pytest.fixture
def look(db: None) -> Look:
    return make_look()


def prepared(tenant: Tenant, limit: float = 100, unit: str = "runs", **schedule: Any) -> Task:
    """Return a task with a budget, and an instant in each of the coming seconds."""
    budget = [{"unit": unit, "limit": limit, "per": "day"}]
    task = make_task(tenant, every_second(schedule={"every": "PT1S", **schedule}, budget=budget))
    prepare()
    # The day ends for no test.
    TaskBudget.objects.update(resets_at=database_now() + timedelta(hours=1))
    return reload(task)


def soon(task: Task) -> int:
    """Return how many instants come within the time by which work is released ahead."""
    until = database_now() + timedelta(seconds=conf().release_seconds)
    return Execution.objects.filter(task_id=task.id, due_at__lte=until).count()


def used(task: Task) -> float:
    return float(TaskBudget.objects.get(task_id=task.id).used)


@pytest.mark.parametrize("unit", ["runs", "tokens"])
def test_they_are_admitted_ahead_and_the_next_look_is_ahead_of_the_next_one(
    alpha: Tenant, look: Look, unit: str
):
    task = prepared(alpha, unit=unit)
    number = soon(task)
    assert 2 <= number < len(states(task))

    counts = look()

    assert counts.done == number
    assert states(task)[:number] == ["admitted"] * number
    assert set(states(task)[number:]) == {"waits"}
    assert used(task) == (number if unit == "runs" else 0)
    # Instants are a second apart.
    assert counts.next_in <= 1.0 + stage._JUST_AFTER


def test_what_the_budget_leaves_nothing_for_is_skipped_at_its_instant_only(
    alpha: Tenant, look: Look
):
    task = prepared(alpha, limit=1)

    counts = look()

    assert set(states(task)) == {"admitted", "waits"}
    assert states(task).count("admitted") == used(task) == 1
    assert counts.next_in <= 1.0 + stage._JUST_AFTER
    assert look().done == 0


def test_the_budget_of_another_day_is_not_asked_ahead(alpha: Tenant, look: Look):
    task = prepared(alpha)
    TaskBudget.objects.update(resets_at=database_now() + timedelta(seconds=2))

    look()

    assert used(task) == Execution.objects.filter(due_at__lte=database_now()).count()


@pytest.mark.parametrize("rule", [{"overlap_policy": "queue_all"}, {"max_concurrent": 3}])
def test_a_policy_or_limit_is_judged_at_the_instant(
    alpha: Tenant, look: Look, rule: dict[str, Any]
):
    task = prepared(alpha, **rule)
    Execution.objects.filter(due_at__lte=database_now()).delete()

    assert look().done == 0

    assert set(states(task)) == {"waits"}


def test_an_edit_that_removes_instants_gives_back_what_they_have_counted(alpha: Tenant, look: Look):
    task = prepared(alpha)
    look()
    assert used(task) > 0
    limits = limits_of(alpha.id)

    changing.edit_task(
        alpha.id,
        task.id,
        lambda current, now: parse_patch(
            current, {"schedule": {"every": "P7D"}}, now=now, limits=limits
        ),
        actor=ACTOR,
    )

    left = Execution.objects.filter(task_id=task.id, counted=True).count()
    assert used(task) == left <= 1


def test_a_pause_gives_back_what_coming_instants_have_counted(alpha: Tenant, look: Look):
    task = prepared(alpha)
    Execution.objects.filter(due_at__lte=database_now()).delete()
    look()
    assert used(task) > 0

    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    assert used(task) == 0


def test_a_budget_that_was_used_up_meanwhile_admits_nothing_ahead(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    task = prepared(alpha, limit=5)
    Execution.objects.filter(due_at__lte=database_now()).delete()

    def before_others(tasks: Any) -> Any:
        found = read(tasks)
        TaskBudget.objects.update(used=5)
        return found

    monkeypatch.setattr(stage, "read", before_others)

    look()

    assert set(states(task)) == {"waits"}
    assert used(task) == 5
