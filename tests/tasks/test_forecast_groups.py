from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.changes.changing import delete_task, pause_task
from executions.loop.clocks import database_now
from tasks.editing import spec_of
from tasks.forecast_groups import Group, Scope, ids_of, read_groups, read_one_time
from tasks.models import Task
from tasks.schedules.jitter import jitter_ms
from tasks.transitions import Pause
from tests.factories import ACTOR, TARGET, daily, make_task, once
from tests.support.cursors import change_task

WEEK = timedelta(days=7)


def scope(tenant: Any, **parts: Any) -> Scope:
    return Scope(tenant.id, database_now() + WEEK, **parts)


def groups(tenant: Any, **parts: Any) -> list[Group]:
    return read_groups(scope(tenant, **parts))[0]


def recurring(**schedule: Any) -> dict[str, Any]:
    return {"schedule": schedule, "target": TARGET}


def test_tasks_with_the_same_instants_are_one_group(alpha, beta):
    tasks = [make_task(alpha) for _ in range(3)]
    make_task(alpha, recurring(cron_expression="0 9 * * *"))
    make_task(beta)

    first, second = groups(alpha)

    assert (first.tasks, second.tasks) == (3, 1)
    assert first.schedule["cron_expression"] == "0 8 * * *"
    assert set(first.sample) == {task.id for task in tasks}
    assert first.destinations == {tasks[0].destination: 3}


def test_a_group_shows_its_first_tasks_however_the_rows_are_stored(alpha):
    tasks = [make_task(alpha) for _ in range(5)]
    for hours, task in enumerate(reversed(tasks)):  # Against the order of the cursors' index.
        change_task(task.id, next_run_at=database_now() + timedelta(hours=hours))

    [group] = groups(alpha)

    assert group.sample == sorted(task.id for task in tasks)[:3]


def test_groups_of_one_size_follow_their_schedules_and_destinations(alpha):
    hosts = ["c.example.com", "a.example.com", "d.example.com", "b.example.com"]
    bodies = [daily(target={**TARGET, "url": f"https://{host}/in"}) for host in hosts]
    tasks = {host: make_task(alpha, body) for host, body in zip(hosts, bodies, strict=True)}

    [group] = groups(alpha)

    assert group.sample == [tasks[host].id for host in sorted(hosts)]


def test_one_time_tasks_of_a_minute_are_shown_in_order(alpha):
    now = database_now()
    at = (now + timedelta(hours=2)).replace(second=0, microsecond=0)
    tasks = [make_task(alpha, once(at)) for _ in range(5)]
    for seconds, task in enumerate(reversed(tasks)):
        change_task(task.id, next_run_at=at + timedelta(seconds=seconds))

    [one] = read_one_time(scope(alpha), now)[0]

    assert one.sample == sorted(task.id for task in tasks)[:3]


def test_what_does_not_start_is_in_no_group(alpha):
    make_task(alpha, recurring(cron_expression="0 8 1 1 *", start_at="2199-01-01T00:00:00Z"))
    paused, deleted = make_task(alpha), make_task(alpha)
    pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    delete_task(alpha.id, deleted.id, actor=ACTOR)

    assert read_groups(scope(alpha)) == ([], 0)


@pytest.mark.parametrize("every", ["PT1H", "PT90S", "pt5m", "P1W2D", "PT2,0S", "P1DT1H1M1S"])
def test_a_fixed_rate_keeps_the_minute_in_which_it_begins(alpha, every):
    task = make_task(alpha, recurring(every=every))
    change_task(task.pk, next_run_at=database_now())
    task.refresh_from_db()

    [group] = groups(alpha)

    [expected] = spec_of(task).between(task.created_at, task.created_at + 20 * WEEK, 1)
    found = group.make(group.schedule).next_from(expected.at - timedelta(seconds=60))
    assert found is not None
    assert abs(found.at - expected.at) < timedelta(seconds=60)


def test_rates_that_begin_in_the_same_minute_are_one_group(alpha):
    start = database_now().replace(second=5)
    for seconds in (0, 10, 300):
        task = make_task(alpha, recurring(every="PT5M"))
        Task.objects.filter(pk=task.pk).update(created_at=start + timedelta(seconds=seconds))

    assert [group.tasks for group in groups(alpha)] == [3]


def test_a_hashed_expression_is_decided_by_the_id(alpha):
    tasks = [make_task(alpha, recurring(cron_expression="H H * * *")) for _ in range(2)]

    found = groups(alpha)

    assert {group.key.seed for group in found} == {task.id for task in tasks}
    for task in tasks:
        group = next(group for group in found if group.key.seed == task.id)
        assert group.make(group.schedule).next_after(task.created_at) == spec_of(task).next_after(
            task.created_at
        )


def test_what_max_occurrences_leaves_is_told(alpha):
    task = make_task(alpha, recurring(cron_expression="0 * * * *", max_occurrences=5))
    change_task(task.pk, occurrence_count=3)

    [group] = groups(alpha)

    assert (group.key.remaining, group.key.cursor) == (2, task.next_run_at)


def test_the_steps_within_the_jitter_are_those_of_the_ids(alpha):
    tasks = [
        make_task(alpha, recurring(cron_expression="0 8 * * *", jitter_seconds=600))
        for _ in range(20)
    ]

    [group] = groups(alpha)

    expected: dict[int, int] = {}
    for task in tasks:
        step = jitter_ms(str(task.id), 600, None) // 60_000
        expected[step] = expected.get(step, 0) + 1
    assert (group.spread.seconds, group.spread.steps) == (600.0, 10)
    assert group.steps == expected


def test_destination_and_label_choose(alpha):
    make_task(alpha)
    other = make_task(
        alpha, daily(target={"url": "https://other.example.com"}, labels={"a": "b:c"})
    )

    assert [group.sample for group in groups(alpha, destination=other.destination)] == [[other.id]]
    for label in ("a", "a:b:c"):
        assert [group.sample for group in groups(alpha, label=label)] == [[other.id]]
    assert groups(alpha, label="a:b") == []


def test_one_time_tasks_are_counted_by_minute(alpha):
    now = database_now()
    at = (now + timedelta(hours=2)).replace(second=30, microsecond=0)
    for _ in range(2):
        make_task(alpha, once(at))
    make_task(alpha, once(now + timedelta(days=8)))

    found, total = read_one_time(scope(alpha), now)

    assert [(one.at, one.tasks) for one in found] == [(at.replace(second=0), 2)]
    assert total == 2


def test_the_ids_of_groups_are_found_again(alpha):
    tasks = [make_task(alpha) for _ in range(2)]
    hashed = [make_task(alpha, recurring(cron_expression="H H * * *")) for _ in range(2)]
    rate = make_task(alpha, recurring(every="PT7M"))
    found = groups(alpha)

    for group in found:
        assert set(ids_of(scope(alpha), [group], 10)) == set(group.sample)
    assert len(ids_of(scope(alpha), found, 10)) == len([*tasks, *hashed, rate])
    assert len(ids_of(scope(alpha), found, 2)) == 2
