from __future__ import annotations

from datetime import timedelta

import pytest

from events.models import AuditEntry
from executions.loop.clocks import database_now
from shared.instants import format_instant
from tasks.models import Calendar
from tests.factories import (
    every_second,
    executions_of,
    make_task,
    pass_guard,
    prepare,
    release,
)
from tests.support.calendars import make_calendar


@pytest.fixture
def calendar(alpha):
    return make_calendar(alpha)


def edit(client, calendar, body, **headers):
    return client.patch(f"/v1/calendars/{calendar.id}", body, **headers)


def today() -> list[str]:
    now = database_now()
    return [f"{now + timedelta(days=days):%Y-%m-%d}" for days in (-1, 0, 1)]


def test_what_is_left_out_stays_and_a_list_takes_the_place_of_the_old_one(client, calendar):
    answer = edit(client, calendar, {"dates": ["2027-05-01"], "name": "Holidays"})

    assert answer.status_code == 200
    assert answer["ETag"] == '"2"'
    shown = answer.json()
    assert [day["date"] for day in shown["dates"]] == ["2027-05-01"]
    assert (shown["weekend"], shown["version"]) == ([6, 7], 2)


def test_an_edit_that_changes_nothing_is_no_new_version(client, calendar):
    assert edit(client, calendar, {"weekend": [6, 7]}).json()["version"] == 1
    assert edit(client, calendar, {}).json()["version"] == 1


def test_from_the_answer_on_nothing_starts_that_it_now_excludes(client, alpha, calendar):
    task = make_task(
        alpha, every_second(schedule={"cron_expression": "* * * * * *", "calendars": ["Holidays"]})
    )
    prepare()
    handed = release(window_seconds=60)

    assert edit(client, calendar, {"dates": today()}).status_code == 200

    assert set(pass_guard(handed)) == {0}
    prepare()
    assert {(row.status, row.reason) for row in executions_of(task)} <= {
        ("SKIPPED", "calendar_excluded"),
        ("CANCELLED", "calendar_excluded"),
    }


def test_a_window_that_ends_lets_tasks_run_again(client, alpha):
    now = database_now()
    window = {
        "start": format_instant(now - timedelta(hours=1)),
        "end": format_instant(now + timedelta(hours=1)),
    }
    calendar = make_calendar(alpha, dates=[], windows=[window])
    task = make_task(
        alpha, every_second(schedule={"cron_expression": "* * * * * *", "calendars": ["Holidays"]})
    )
    prepare()
    assert {row.status for row in executions_of(task)} == {"SKIPPED"}

    edit(client, calendar, {"windows": []})
    prepare()

    ahead = [row for row in executions_of(task) if row.scheduled_for > database_now()]
    assert ahead
    assert {row.status for row in ahead} == {"PENDING"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "Other"}, "#/name"),
        ({"dates": ["x"]}, "#/dates/0/date"),
        ({"dates": None}, "#/dates"),
        ({"windows": {}}, "#/windows"),
        ({"tasks": 1}, "#/tasks"),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, calendar, body, pointer):
    answer = edit(client, calendar, body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert Calendar.objects.get().version == 1


def test_another_version_than_if_match_says_is_412(client, calendar):
    assert edit(client, calendar, {"dates": []}, if_match='"2"').status_code == 412
    assert edit(client, calendar, {"dates": []}, if_match='"1"').status_code == 200


def test_redis_away_is_503_and_changes_nothing(client, alpha, calendar, no_redis):
    make_task(
        alpha, every_second(schedule={"cron_expression": "* * * * * *", "calendars": ["Holidays"]})
    )
    prepare()
    release(window_seconds=60)
    no_redis()

    assert edit(client, calendar, {"dates": today()}).status_code == 503
    assert Calendar.objects.get().version == 1


def test_the_same_call_again_is_one_change_and_one_entry(client, calendar):
    first = edit(client, calendar, {"dates": []}, idempotency_key="e1")
    second = edit(client, calendar, {"dates": []}, idempotency_key="e1")

    assert second.content == first.content
    assert AuditEntry.objects.filter(action="calendar.updated").count() == 1
