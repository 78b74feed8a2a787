from __future__ import annotations

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from tasks import erasing
from tasks.budgets import keeping, purses
from tasks.calendars import limits_of
from tasks.models import TaskBudget
from tasks.validation.bodies import parse_patch
from tests.factories import ACTOR, daily, make_task, reload

pytestmark = pytest.mark.django_db

RUNS = {"unit": "runs", "limit": 5, "per": "day"}
TOKENS = {"unit": "tokens", "limit": 1000.5, "per": "month"}


def edit(task, **body):
    limits = limits_of(task.tenant_id)
    changing.edit_task(
        task.tenant_id,
        task.id,
        lambda current, now: parse_patch(current, body, now=now, limits=limits),
        actor=ACTOR,
    )
    return reload(task)


def rows(task):
    found = TaskBudget.objects.filter(task_id=task.id).order_by("unit")
    return [(row.unit, float(row.most), row.per, float(row.used)) for row in found]


def test_a_new_task_has_the_budgets_of_its_definition_and_waits_for_the_gate(alpha):
    task = make_task(alpha, daily(budget=[RUNS, TOKENS]))

    assert rows(task) == [("runs", 5, "day", 0), ("tokens", 1000.5, "month", 0)]
    assert task.limited
    assert not make_task(alpha, daily()).limited


def test_an_edit_changes_the_limit_and_keeps_what_is_used(alpha):
    task = make_task(alpha, daily(budget=[RUNS, TOKENS]))
    purses.begin_run(task.id)

    edit(task, budget=[{**RUNS, "limit": 9}])

    assert rows(task) == [("runs", 9, "day", 1)]


def test_an_edit_of_something_else_keeps_the_budgets(alpha):
    task = make_task(alpha, daily(budget=[RUNS]))

    edit(task, name="Other")

    assert rows(task) == [("runs", 5, "day", 0)]
    assert reload(task).limited


@pytest.mark.parametrize("none", [None, []])
def test_a_removed_budget_leaves_nothing(alpha, none):
    task = make_task(alpha, daily(budget=[RUNS]))

    task = edit(task, budget=none)

    assert rows(task) == []
    assert not task.limited


def test_another_zone_ends_the_period_by_its_own_calendar(alpha):
    task = make_task(alpha, daily(budget=[RUNS]))
    before = TaskBudget.objects.get().resets_at

    edit(task, schedule={"timezone": "Pacific/Kiritimati"})

    assert TaskBudget.objects.get().resets_at != before


def test_the_use_is_shown_with_what_is_left_and_until_when(alpha):
    task = make_task(alpha, daily(budget=[RUNS]))
    purses.begin_run(task.id)

    [shown] = keeping.present_use(task)

    assert shown.pop("resets_at") > f"{database_now():%Y-%m-%d}"
    assert shown == {
        "unit": "runs",
        "per": "day",
        "limit": 5,
        "used": 1,
        "left": 4,
        "used_up": False,
    }


def test_an_erased_task_keeps_no_words_of_its_units(alpha):
    task = make_task(alpha, daily(budget=[TOKENS]))
    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    erasing.blank(alpha.id, task.id)

    assert rows(task) == []
