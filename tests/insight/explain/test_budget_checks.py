from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from insight.explain.answer import told
from insight.explain.budget_checks import budget
from insight.explain.evidence import Situation
from insight.explain.explanation import explain_execution, explain_task
from tasks.budgets import purses
from tests.factories import daily, make_task, reload
from tests.insight.explain.cast import HOUR, MINUTE, row, this_minute

pytestmark = pytest.mark.django_db


def budgeted(tenant, limit=1):
    entry = {"unit": "runs", "limit": limit, "per": "month"}
    return make_task(tenant, daily(schedule={"cron_expression": "* * * * *"}, budget=[entry]))


def of(found, task):
    return Situation(reload(task), found.scheduled_for, database_now(), found)


def test_a_skipped_instant_names_the_budget_and_the_remedy(alpha):
    task = budgeted(alpha)
    purses.begin_run(task.id)
    now = database_now()
    found = row(task, this_minute(-MINUTE), "SKIPPED", reason="budget_exceeded", finished_at=now)

    check = budget(of(found, task))

    assert check.ok is False
    assert "1 of 1 runs of this month" in check.evidence
    assert check.fix is not None
    assert check.fix.call == f"PATCH /v1/tasks/{task.id}"


def test_a_coming_instant_of_a_used_up_budget_says_when_the_next_begins(alpha):
    task = budgeted(alpha)
    purses.begin_run(task.id)

    check = budget(Situation(reload(task), this_minute(MINUTE), database_now(), None))

    assert check.ok is False
    resets_at = purses.read([task.id])[task.id].all[0].resets_at
    assert f"What comes due before {told(resets_at)} is skipped." in check.evidence


def test_a_coming_instant_of_a_used_up_budget_is_not_said_to_start_later(alpha):
    task = budgeted(alpha)
    purses.begin_run(task.id)
    found = row(task, this_minute(MINUTE), gated=True, held=True)

    for explained in (
        explain_execution(found, database_now()),
        explain_task(reload(task), this_minute(2 * MINUTE), database_now()),
    ):
        assert explained.state == "will_not_run"
        assert explained.verdict.startswith("It will not run: the task's budget is used up")
        assert explained.estimated_start is None


def test_an_instant_with_something_left_passes(alpha):
    task = budgeted(alpha, limit=2)
    purses.begin_run(task.id)

    check = budget(Situation(reload(task), this_minute(MINUTE), database_now(), None))

    assert check.ok is True
    assert "1 of 2 runs" in check.evidence


def test_an_admitted_run_and_one_that_has_begun_passed_it(alpha):
    task = budgeted(alpha)

    assert budget(of(row(task, this_minute(), gated=False), task)).ok is True
    started = {"started_at": database_now(), "attempt": 1}
    assert budget(of(row(task, this_minute(-HOUR), "RUNNING", **started), task)).ok is None


def test_a_run_that_gave_its_place_away_is_counted(alpha):
    task = budgeted(alpha)
    purses.begin_run(task.id)
    found = row(task, this_minute(-MINUTE), gated=True, held=True, gave_way=True)

    assert budget(of(found, task)).ok is True
