from __future__ import annotations

from datetime import timedelta

import pytest
import redis

from executions.broker import FOLLOW_CALENDAR
from executions.changes import calendar_changes
from executions.changes.calendar_changes import delete_calendar, follow_some, update_calendar
from executions.loop.clocks import database_now
from shared.exceptions import Conflict
from shared.instants import format_instant
from tasks.calendar_content import read_content
from tests.executions.changes.changes import patch, pause
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from tests.support.calendars import make_calendar, under
from tests.support.cursors import change_task


def seconds(**schedule):
    return every_second(
        schedule={"cron_expression": "* * * * * *", "calendars": ["Holidays"], **schedule}
    )


def around_now() -> list[str]:
    now = database_now()
    return [f"{now + timedelta(days=days):%Y-%m-%d}" for days in (-1, 0, 1)]


def change(calendar, **body):
    return update_calendar(
        calendar.tenant_id,
        calendar.id,
        lambda content: read_content(body, content),
        actor=ACTOR,
    )


@pytest.fixture
def calendar(alpha):
    return make_calendar(alpha)


def ahead(task):
    now = database_now()
    return [row for row in executions_of(task) if row.scheduled_for > now]


def test_prepared_instants_that_are_excluded_leave_and_come_again_as_skipped(alpha, calendar):
    task = make_task(alpha, seconds())
    prepare()
    assert {row.status for row in ahead(task)} == {"PENDING"}

    change(calendar, dates=around_now())

    assert not ahead(task)
    prepare()
    assert {(row.status, row.reason) for row in ahead(task)} == {("SKIPPED", "calendar_excluded")}


def test_each_instant_is_counted_once(alpha, calendar):
    task = make_task(alpha, seconds(max_occurrences=1000))
    prepare()

    change(calendar, dates=around_now())
    prepare()
    change(calendar, dates=[])
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task))


def test_released_work_does_not_start_and_what_is_late_is_cancelled(alpha, calendar):
    task = make_task(alpha, once() | {"schedule": {"delay_seconds": 0, "calendars": ["Holidays"]}})
    prepare()
    handed = release()

    change(calendar, dates=around_now())

    assert pass_guard(handed) == [0]
    (row,) = executions_of(task)
    assert (row.status, row.reason) == ("CANCELLED", "calendar_excluded")
    assert reload(task).status == "CANCELLED"


def test_what_runs_goes_on(alpha, calendar):
    task = make_task(alpha, once() | {"schedule": {"delay_seconds": 0, "calendars": ["Holidays"]}})
    prepare()
    start(release())

    change(calendar, dates=around_now())

    assert [row.status for row in executions_of(task)] == ["RUNNING"]
    assert reload(task).status == "RUNNING"


def test_a_change_that_tasks_do_not_see_takes_nothing_back(alpha, calendar):
    task = make_task(alpha, seconds())
    prepare()
    handed = release(window_seconds=60)

    change(calendar, description="Ours")

    assert set(pass_guard(handed)) == {1}
    assert reload(task).version == 1


def test_the_version_of_the_task_stays_and_what_is_not_excluded_stays_prepared(alpha, calendar):
    task = make_task(alpha, seconds())
    prepare()
    before = {row.id for row in ahead(task)}

    change(calendar, dates=["2027-05-01"])

    assert ahead(task)
    assert {row.id for row in ahead(task)} <= before
    assert reload(task).version == 1


def test_a_task_that_moves_gets_its_new_instant(alpha, calendar):
    now = database_now()
    day = now + timedelta(days=3)
    task = make_task(
        alpha,
        under(
            "Holidays",
            cron=f"0 8 {day.day} {day.month} *",
            timezone="UTC",
            calendar_policy="next_business_day",
        ),
    )
    first = reload(task).next_run_at

    change(calendar, dates=[f"{day:%Y-%m-%d}"])

    moved = reload(task).next_run_at
    assert first is not None
    assert moved is not None
    assert moved > first
    assert moved.hour == 8


def test_a_task_whose_scheduler_was_away_keeps_its_place(alpha, calendar):
    task = make_task(alpha, under("Holidays"))
    behind = database_now() - timedelta(days=3)
    change_task(task.pk, next_run_at=behind)

    change(calendar, dates=["2027-05-01"])

    assert reload(task).next_run_at == behind


def test_a_paused_task_keeps_its_place(alpha, calendar):
    task = make_task(alpha, seconds())
    prepare()
    pause(task)
    cursor = reload(task).next_run_at

    change(calendar, dates=around_now())

    assert (reload(task).status, reload(task).next_run_at) == ("PAUSED", cursor)


def test_an_edit_that_takes_the_calendar_away_brings_the_coming_instants_back(alpha):
    now = database_now()
    window = {
        "start": format_instant(now - timedelta(hours=1)),
        "end": format_instant(now + timedelta(hours=1)),
    }
    make_calendar(alpha, windows=[window])
    task = make_task(alpha, seconds())
    prepare()
    assert {row.status for row in ahead(task)} == {"SKIPPED"}

    patch(task, {"schedule": {"calendars": []}})
    prepare()

    assert {row.status for row in ahead(task)} == {"PENDING"}
    assert reload(task).occurrence_count == len(executions_of(task))


def test_the_rest_of_many_tasks_follows_by_the_system_worker(
    alpha, calendar, monkeypatch, django_capture_on_commit_callbacks
):
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr(calendar_changes, "AT_ONCE", 2)
    monkeypatch.setattr(calendar_changes, "publish_system_job", lambda *words: sent.append(words))
    tasks = sorted((make_task(alpha, seconds()) for _ in range(5)), key=lambda task: task.id)
    prepare()

    with django_capture_on_commit_callbacks(execute=True):
        change(calendar, dates=around_now())
    assert [bool(ahead(task)) for task in tasks] == [False, False, True, True, True]

    while sent:
        name, calendar_id, after = sent.pop()
        assert (name, calendar_id) == (FOLLOW_CALENDAR, str(calendar.id))
        with django_capture_on_commit_callbacks(execute=True):
            follow_some(calendar.id, type(calendar.id)(after))
    assert not any(ahead(task) for task in tasks)


@pytest.mark.logs("calendar.not_followed", reason="away")
def test_a_change_stays_where_the_broker_is_away(
    alpha, calendar, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*words):
        raise redis.ConnectionError("away")

    monkeypatch.setattr(calendar_changes, "AT_ONCE", 1)
    monkeypatch.setattr(calendar_changes, "publish_system_job", refuse)
    tasks = sorted((make_task(alpha, seconds()) for _ in range(2)), key=lambda task: task.id)
    prepare()

    with django_capture_on_commit_callbacks(execute=True):
        change(calendar, dates=around_now())

    assert [bool(ahead(task)) for task in tasks] == [False, True]


def test_following_a_calendar_that_is_gone_does_nothing(calendar):
    calendar_id = calendar.id
    delete_calendar(calendar.tenant_id, calendar_id, actor=ACTOR)

    follow_some(calendar_id, type(calendar_id)(int=0))


def test_one_that_tasks_name_cannot_go(alpha, calendar):
    make_task(alpha, seconds())

    with pytest.raises(Conflict) as refused:
        delete_calendar(alpha.id, calendar.id, actor=ACTOR)
    assert refused.value.code == "calendar_in_use"
