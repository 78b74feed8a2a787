from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from insight.task_clock import changes_in, clock_rule_of
from tasks.models import Task
from tasks.schedules.zones import find_zone
from tenants.models import Tenant
from tests.factories import daily, make_task, reload

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 1, tzinfo=UTC)
#: Half past one and two in New York: on 2027-03-14 02:30 is skipped, on 2027-11-07 01:30 is twice.
HALF_PAST = {"cron_expression": "30 1,2 * * *", "timezone": "America/New_York"}
SKIPPED, TWICE = datetime(2027, 3, 14, 7, tzinfo=UTC), datetime(2027, 11, 7, 5, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _task(alpha: Tenant, **schedule: str) -> Task:
    return make_task(alpha, daily(schedule={**HALF_PAST, **schedule}))


@pytest.mark.parametrize(
    ("gap", "runs"),
    [("next_valid", [SKIPPED]), ("before", [SKIPPED - timedelta(minutes=1)]), ("skip", [])],
)
def test_a_skipped_time_and_when_it_runs_instead(alpha: Tenant, gap: str, runs: list[datetime]):
    rule = clock_rule_of(_task(alpha, dst_gap=gap), NOW)

    assert rule is not None
    forward = rule.coming[0]
    assert (rule.zone, forward.change.day) == ("America/New_York", date(2027, 3, 14))
    [time] = forward.times
    assert (time.local_time, time.skipped, list(time.runs_at)) == ("02:30", True, runs)


@pytest.mark.parametrize(
    ("overlap", "runs"),
    [("first", [TWICE]), ("second", [TWICE + HOUR]), ("both", [TWICE, TWICE + HOUR])],
)
def test_a_time_that_occurs_twice_and_when_it_runs(
    alpha: Tenant, overlap: str, runs: list[datetime]
):
    rule = clock_rule_of(_task(alpha, dst_overlap=overlap), NOW)

    assert rule is not None
    [time] = rule.coming[1].times
    assert (time.local_time, time.skipped, list(time.runs_at)) == ("01:30", False, runs)


def test_a_change_that_concerns_no_time_of_the_task_has_none(alpha: Tenant):
    task = _task(alpha, cron_expression="0 8 * * *")

    rule = clock_rule_of(task, NOW)

    assert rule is not None
    assert [list(one.times) for one in rule.coming] == [[], []]


def test_a_schedule_that_cannot_be_read_has_no_rule(alpha: Tenant):
    task = _task(alpha)
    Task.objects.filter(pk=task.pk).update(schedule={"cron_expression": "what"})

    assert clock_rule_of(reload(task), NOW) is None


def test_changes_are_found_by_their_local_day():
    found = changes_in(find_zone("Europe/Berlin"), NOW, NOW + timedelta(days=200))

    assert list(found) == ["2027-03-28"]
