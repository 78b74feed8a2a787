from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from executions.loop.clocks import database_now
from insight.explain.absence import why_absent
from insight.explain.evidence import Situation
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import daily, make_task, once, reload
from tests.insight.explain.cast import HOUR, MINUTE, minutely, this_minute

pytestmark = pytest.mark.django_db

#: The clocks of Paris jump at 01:00 UTC, from two to three.
JUMP = datetime(2031, 3, 30, 1, tzinfo=UTC)


def absent(task: Task, moment: datetime) -> str:
    found = why_absent(Situation(reload(task), moment, database_now(), None))
    return " ".join(found) if found else ""


def in_paris(tenant: Tenant, **schedule: Any) -> Task:
    zone = {"timezone": "Europe/Paris", "cron_expression": "30 2 * * *"}
    return make_task(tenant, daily(schedule={**zone, **schedule}))


def test_an_instant_that_is_expected_is_not_absent(alpha: Tenant):
    assert absent(minutely(alpha), this_minute(2 * MINUTE)) == ""


def test_the_time_that_a_gap_swallows_leads_to_the_one_instead(alpha: Tenant):
    words = absent(in_paris(alpha), JUMP.replace(minute=30))

    assert "dst_gap is next_valid" in words
    assert "It is run at 2031-03-30 01:00:00 UTC instead." in words


@pytest.mark.parametrize("choice", ["skip", "before"])
def test_a_gap_is_named_at_its_end_when_another_choice_runs_there(alpha: Tenant, choice: str):
    assert f"dst_gap is {choice}" in absent(in_paris(alpha, dst_gap=choice), JUMP)


def test_an_ordinary_time_of_that_day_is_not_blamed_on_the_clocks(alpha: Tenant):
    words = absent(in_paris(alpha), JUMP.replace(hour=9))

    assert "no such instant" in words


def test_a_schedule_of_elapsed_time_knows_no_gap(alpha: Tenant):
    words = absent(minutely(alpha, {"cron_expression": None, "every": "PT7H"}), JUMP)

    assert "no such instant" in words


def test_a_one_time_task_has_one_instant(alpha: Tenant):
    task = make_task(alpha, once(this_minute(HOUR)))

    assert absent(task, this_minute(HOUR)) == ""
    assert "no such instant" in absent(task, this_minute(2 * HOUR))


def test_a_schedule_that_cannot_be_read_is_told(alpha: Tenant):
    task = minutely(alpha)
    Task.objects.filter(pk=task.pk).update(schedule={"cron_expression": "never"})

    assert "cannot be read" in absent(task, this_minute())


def test_a_bound_that_cannot_be_read_is_passed_over(alpha: Tenant):
    task = minutely(alpha)
    found = Situation(task, this_minute().replace(second=30), database_now(), None)
    found.task.schedule["start_at"] = "soon"

    assert why_absent(found) is not None
