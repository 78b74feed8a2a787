"""A plan's counts and lines; what only a dry run has made has no id."""

from __future__ import annotations

import pytest

from executions.changes.importing import Action, Planned
from insight.presentation.import_plan import count_actions, present_plan
from shared.instants import parse_instant
from tests.factories import make_task

pytestmark = pytest.mark.django_db
AT = "2026-11-20T21:05:00.000Z"


@pytest.fixture
def plan(alpha):
    task = make_task(alpha)
    return [
        Planned(1, "one\x1b[2m", Action.NEW, task, "Every minute", (parse_instant(AT),)),
        Planned(2, "two", Action.UNCHANGED, task, notes=("its task differs",)),
        Planned(3, "@reboot", Action.REFUSED, reason="no time"),
    ]


def test_lines_are_counted_by_action(plan):
    assert count_actions(plan) == {Action.NEW: 1, Action.UNCHANGED: 1, Action.REFUSED: 1}
    assert present_plan(plan, dry_run=False)["summary"] == {"new": 1, "unchanged": 1, "refused": 1}


def test_a_task_that_is_only_planned_has_no_id(plan):
    planned = present_plan(plan, dry_run=True)["lines"]
    made = present_plan(plan, dry_run=False)["lines"]

    id_ = str(plan[0].task.id)
    assert [line.get("task_id") for line in planned] == [None, id_, None]
    assert [line.get("task_id") for line in made] == [id_, id_, None]
    assert made[0]["next"] == [AT]
    assert made[0]["text"] == "one?[2m"
    assert made[2]["reason"] == "no time"
