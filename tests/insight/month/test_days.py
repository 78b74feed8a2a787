"""The month as a whole."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from insight.filter_language.fields import TASKS
from insight.filter_language.terms import parse
from insight.month.days import month_of, narrowing, present_month, present_runs
from insight.month.past import Ended
from insight.month.runs import runs_of_days
from shared.conf import conf
from tasks.transitions import Pause
from tests.factories import ACTOR, daily, make_task
from tests.insight.month.march import BERLIN, DAYS, FIRST, NOW, on
from tests.support.ended_rows import ended

pytestmark = pytest.mark.django_db


def test_past_days_have_what_ended_and_coming_ones_what_is_to_come(alpha):
    make_task(alpha, daily())

    month = month_of(alpha.id, FIRST, BERLIN, NOW)

    days = {one.day: one for one in month.days}
    assert (month.today, month.previous.month, month.following.month) == (on(20), 2, 4)
    assert (days[on(19)].coming, days[on(19)].ended) == (None, Ended())
    assert days[on(20)].ended == Ended()
    assert (days[on(21)].coming, days[on(21)].ended) == (1, None)


def test_days_without_history_have_no_counts(alpha):
    late = NOW + timedelta(days=conf().retention_days + 5)

    month = month_of(alpha.id, FIRST, BERLIN, late)

    assert [one.day.day for one in month.days if one.ended is None] == list(range(1, 25))


def test_a_filter_leaves_its_tasks_alone(alpha):
    task = make_task(alpha, daily(name="Wanted"))
    other = make_task(alpha, daily(name="Other"))
    paused = make_task(alpha, daily(name="Wanted, too"))
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    for one in (task, other):
        ended(one, NOW - timedelta(days=1))

    month = month_of(alpha.id, FIRST, BERLIN, NOW, parse("task:wanted*", TASKS))

    days = {one.day: one for one in month.days}
    assert (days[on(19)].ended, days[on(21)].coming) == (Ended(1, 0), 1)
    assert (month.coming.tasks, month.paused) == (1, 1)


def test_the_answers_have_days_and_runs(alpha):
    task = make_task(alpha, daily())

    shown = present_month(month_of(alpha.id, FIRST, BERLIN, NOW))
    narrow = narrowing(alpha.id, None, NOW)
    runs = present_runs(on(21), runs_of_days(alpha.id, [DAYS[20]], NOW, narrow, 5))

    assert (shown["month"], shown["timezone"], shown["complete"]) == (
        "2027-03",
        "Europe/Berlin",
        True,
    )
    assert shown["days"][20] == {
        "day": "2027-03-21",
        "coming": 1,
        "succeeded": None,
        "failed": None,
        "ended_at_least": False,
        "clock_change": None,
        "pauses": [],
        "calendars": [],
    }
    [run] = runs["runs"]
    assert (run["task_id"], run["more"], runs["day"], runs["complete"]) == (
        str(task.pk),
        False,
        "2027-03-21",
        True,
    )
