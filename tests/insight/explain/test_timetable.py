from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.loop.clocks import database_now
from insight.explain.timetable import (
    FIRST,
    LAST,
    Timetable,
    last_before,
    next_after,
    occurrence_at,
)
from shared.exceptions import InvalidInput
from tasks.models import Task
from tasks.schedules.spec import Spec, parse
from tenants.models import Tenant
from tests.factories import daily, make_task, reload
from tests.insight.explain.cast import MINUTE, minutely, this_minute

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def cron(expression: str) -> Spec:
    return parse("RECURRING", {"cron_expression": expression})


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("* * * * * *", NOON - timedelta(seconds=1)),
        ("*/5 * * * *", NOON - timedelta(minutes=5)),
        ("0 8 * * *", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("0 8 1 1 *", datetime(2026, 1, 1, 8, tzinfo=UTC)),
        ("* * * 1 1 *", datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_instant_before_is_found_however_far_back(expression: str, before: datetime):
    assert last_before(cron(expression), NOON) == before


def test_at_the_ends_of_time_there_is_no_instant_beyond():
    spec = cron("0 0 * * *")

    assert last_before(spec, FIRST) is None
    assert next_after(spec, LAST) is None
    assert occurrence_at(spec, FIRST - timedelta(days=1)) is None
    assert occurrence_at(None, NOON) is None


def test_only_an_exact_instant_is_an_occurrence():
    spec = cron("0 12 * * *")

    assert occurrence_at(spec, NOON) is not None
    assert occurrence_at(spec, NOON + timedelta(milliseconds=1)) is None


@pytest.mark.django_db
def test_each_version_has_its_own_instants(alpha: Tenant):
    task = minutely(alpha)
    old = task.revisions.get()
    hourly = {**task.schedule, "cron_expression": "0 * * * *"}
    task.revisions.create(
        version=2, definition={**old.definition, "schedule": hourly}, sealed=old.sealed
    )
    Task.objects.filter(pk=task.pk).update(version=2, schedule=hourly)

    found = Timetable(reload(task))

    half = NOON + 30 * MINUTE
    assert occurrence_at(found.of(1), half) is not None
    assert occurrence_at(found.of(2), half) is None
    assert found.of(3) is None
    before, after = found.version_at(this_minute(-MINUTE)), found.version_at(database_now())
    assert before is not None
    assert after is not None
    assert (before[0], after[0]) == (1, 2)


@pytest.mark.django_db
@pytest.mark.logs("schedule.not_shown")
def test_a_schedule_that_cannot_be_read_expects_nothing(alpha: Tenant):
    task = minutely(alpha)
    task.revisions.update(definition={"type": "RECURRING", "schedule": {"cron_expression": "?!"}})
    Task.objects.filter(pk=task.pk).update(schedule={"every": 7}, version=2)

    found = Timetable(reload(task))

    assert found.current is None
    assert found.of(1) is None


@pytest.mark.django_db
def test_a_calendar_that_is_gone_leaves_the_instants(alpha: Tenant):
    task = minutely(alpha)
    Task.objects.filter(pk=task.pk).update(schedule={**task.schedule, "calendars": ["gone"]})

    assert occurrence_at(Timetable(reload(task)).current, NOON) is not None


@pytest.mark.django_db
def test_max_occurrences_leaves_what_is_not_used_up(alpha: Tenant):
    task = minutely(alpha, {"max_occurrences": 5}, occurrence_count=2)
    first = this_minute(MINUTE)
    found = Timetable(task)

    assert found.left_from(first, first + 100 * MINUTE) == 3
    assert found.left_from(first + 2 * MINUTE, first + 100 * MINUTE) == 1
    assert found.left_from(first + 9 * MINUTE, first + 100 * MINUTE) == 0


@pytest.mark.django_db
def test_without_a_limit_or_with_one_out_of_reach_nothing_is_counted(alpha: Tenant):
    first = this_minute(MINUTE)

    assert Timetable(minutely(alpha)).left_from(first, first + MINUTE) is None
    far = minutely(alpha, {"max_occurrences": 1_000_000})
    assert Timetable(far).left_from(first, first + MINUTE) is None


@pytest.mark.django_db
def test_counting_too_far_ahead_is_refused(alpha: Tenant):
    body = daily(schedule={"cron_expression": "* * * * * *", "max_occurrences": 900_000_000})
    task = make_task(alpha, body)

    with pytest.raises(InvalidInput):
        Timetable(task).left_from(LAST, LAST)
