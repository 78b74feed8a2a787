from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput
from tasks import hot_minutes
from tasks.hot_minutes import Meeting, find_meeting
from tasks.models import Task
from tests.factories import TARGET, daily, make_task, once


def meeting(tenant: Any, at: datetime) -> Meeting:
    return find_meeting(tenant.id, at, now=database_now())


def at_eight(**schedule: Any) -> dict[str, Any]:
    return daily(schedule={"cron_expression": "0 8 * * *", **schedule})


def next_eight(task: Task) -> datetime:
    assert task.next_run_at is not None
    return task.next_run_at


def test_the_tasks_of_a_minute_are_found_with_the_usual_jitter(alpha, beta):
    tasks = [make_task(alpha, at_eight()) for _ in range(3)]
    make_task(alpha, {"schedule": {"cron_expression": "1 8 * * *"}, "target": TARGET})
    make_task(beta, at_eight())

    found = meeting(alpha, next_eight(tasks[0]) + timedelta(seconds=59))

    assert found.at == next_eight(tasks[0])
    assert found.task_ids == sorted(task.id for task in tasks)
    assert (found.left_out, found.limited, found.jitter_seconds) == (0, False, 300)


def test_the_proposed_jitter_is_half_of_the_way_to_the_next_start(alpha):
    task = make_task(alpha, at_eight())
    make_task(alpha, {"schedule": {"cron_expression": "*/4 * * * *"}, "target": TARGET})

    found = meeting(alpha, next_eight(task))

    assert (len(found.task_ids), found.gap_seconds, found.jitter_seconds) == (2, 240.0, 120)


def test_what_has_a_jitter_or_starts_every_minute_stays(alpha):
    task = make_task(alpha, at_eight())
    make_task(alpha, at_eight(jitter_seconds=60))
    make_task(alpha, {"schedule": {"cron_expression": "* * * * *"}, "target": TARGET})
    make_task(alpha, once(next_eight(task), schedule={"run_at": next_eight(task).isoformat()}))
    jittered = {"run_at": next_eight(task).isoformat(), "jitter_seconds": 5}
    make_task(alpha, once(schedule=jittered))

    found = meeting(alpha, next_eight(task))

    assert (len(found.task_ids), found.left_out) == (2, 2)


def test_a_last_start_may_be_spread_as_usual(alpha):
    at = (database_now() + timedelta(hours=1)).replace(second=0, microsecond=0)
    make_task(alpha, once(at))

    found = meeting(alpha, at)

    assert (found.gap_seconds, found.jitter_seconds) == (None, 300)


def test_one_job_spreads_so_many_at_most(alpha, monkeypatch):
    monkeypatch.setattr(hot_minutes, "MOST_TASKS", 2)
    tasks = [make_task(alpha, at_eight()) for _ in range(3)]

    found = meeting(alpha, next_eight(tasks[0]))

    assert (len(found.task_ids), found.limited) == (2, True)


@pytest.mark.parametrize("days", [-1, 400])
def test_a_minute_that_has_passed_or_is_too_far_is_refused(alpha, days):
    with pytest.raises(InvalidInput):
        meeting(alpha, database_now() + timedelta(days=days))


def test_a_schedule_that_cannot_be_read_is_in_no_minute(alpha):
    task = make_task(alpha, at_eight())
    schedule = {**task.schedule, "timezone": "Gone/Town"}
    Task.objects.filter(pk=task.pk).update(schedule=schedule)

    assert meeting(alpha, next_eight(task)).task_ids == []
