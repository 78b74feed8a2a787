from __future__ import annotations

from datetime import timedelta

from insight.presentation.tasks import (
    paused_by,
    present_latest,
    present_tasks,
    standing_pauses_of,
    upcoming,
)
from tests.executions.changes.standing import stand
from tests.factories import every_second, executions_of, make_task, prepare, reload


def test_tasks_are_presented_in_their_order(alpha):
    tasks = [make_task(alpha) for _ in range(3)]

    assert [shown["id"] for shown in present_tasks(tasks)] == [str(task.id) for task in tasks]
    assert present_tasks([]) == []


def test_what_holds_tasks_is_named_in_one_query(alpha, django_assert_num_queries):
    tasks = [make_task(alpha) for _ in range(3)]
    made = stand(alpha)
    held = [reload(task) for task in tasks]

    with django_assert_num_queries(1):
        found = standing_pauses_of(held)
    with django_assert_num_queries(0):
        assert standing_pauses_of(tasks) == {}

    assert found == {made.id: made}
    assert {shown["paused_by"]["id"] for shown in present_tasks(held)} == {str(made.id)}
    assert paused_by(tasks[0], found) == {"paused_by": None}


def test_the_next_run_is_the_soonest_that_is_prepared(alpha):
    task = make_task(alpha, every_second())
    prepare()

    soonest = upcoming([task])[task.id]

    cursor = reload(task).next_run_at
    assert cursor is not None
    assert soonest is not None
    assert soonest.at < cursor
    assert soonest.at in [row.scheduled_for for row in executions_of(task)]
    assert soonest.due_at == soonest.at


def test_the_latest_are_those_that_have_come_then_the_soonest_ahead(alpha):
    task = make_task(alpha, every_second())
    prepare()
    rows = executions_of(task)
    ids = [str(row.id) for row in rows]
    moment = rows[12].scheduled_for + timedelta(milliseconds=1)

    early = present_latest(task, rows[0].scheduled_for - timedelta(seconds=1))
    late = present_latest(task, moment)

    assert [shown["id"] for shown in early] == ids[:10][::-1]
    assert [shown["id"] for shown in late] == ids[3:13][::-1]
