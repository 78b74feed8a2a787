from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from shared.exceptions import InvalidInput
from tasks import dependencies
from tasks.dependencies import Judged
from tasks.models import Task, TaskCursor, TaskDependency
from tests.factories import make_task, once
from tests.support.waiting_tasks import edit, make_waiting

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 29, 8, tzinfo=UTC)


def judged(**parts: Any) -> Judged:
    given: dict[str, Any] = {
        "ready": False,
        "failed": True,
        "gone": False,
        "paused": False,
        "on_failure": "skip",
        "at": NOW,
        **parts,
    }
    return Judged(task_id=UUID(int=1), place="(0,1)", **given)


def refusal(task: Task, *prerequisites: Task) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as refused:
        edit(task, {"depends_on": [str(one.id) for one in prerequisites]})
    [error] = refused.value.errors
    return error.pointer, error.code, error.message


def test_a_new_task_has_a_row_for_each_prerequisite_and_is_on_hold(alpha):
    first, second = make_task(alpha, once()), make_task(alpha, once())
    task = make_waiting(alpha, [first, second], on_dependency_failure="wait")

    rows = TaskDependency.objects.filter(task_id=task.id).order_by("prerequisite_id")
    assert [row.prerequisite_id for row in rows] == sorted([first.id, second.id])
    assert {(row.tenant_id, row.partition, row.on_failure) for row in rows} == {
        (alpha.id, task.partition, "wait")
    }
    assert all(row.look_at is not None for row in rows)
    cursor = TaskCursor.objects.get(task_id=task.id)
    assert (cursor.held, cursor.execution_id) == (True, None)


def test_a_task_that_depends_on_none_has_no_row(alpha):
    task = make_task(alpha, once())

    assert dependencies.waiting([]) == []
    assert dependencies.open_prerequisites(task) == []
    assert not TaskCursor.objects.get(task_id=task.id).held


def test_a_task_cannot_wait_for_itself(alpha):
    task = make_task(alpha, once())

    assert refusal(task, task) == (
        "#/depends_on/0",
        "dependency_cycle",
        f"It would wait for itself: {task.id} → {task.id}.",
    )


def test_nor_by_others_and_the_way_is_told(alpha):
    first = make_task(alpha, once())
    middle = make_waiting(alpha, [first])
    last = make_waiting(alpha, [middle])
    aside = make_task(alpha, once())

    assert refusal(first, aside, last) == (
        "#/depends_on/1",
        "dependency_cycle",
        f"It would wait for itself: {first.id} → {last.id} → {middle.id} → {first.id}.",
    )
    assert not TaskDependency.objects.filter(task_id=first.id).exists()


def test_many_ways_through_the_same_tasks_are_walked_once(alpha):
    # 2^30 ways lead from the last pair to the first.
    pair = [make_task(alpha, once()), make_task(alpha, once())]
    first = pair[0]
    for _ in range(30):
        pair = [make_waiting(alpha, pair), make_waiting(alpha, pair)]

    assert refusal(first, pair[0])[1] == "dependency_cycle"


def test_the_tasks_that_are_waited_for_are_told(alpha):
    first, second = make_task(alpha, once()), make_task(alpha, once())
    task = make_waiting(alpha, [second, first])

    assert dependencies.open_prerequisites(task) == sorted([first, second], key=lambda one: one.id)


@pytest.mark.parametrize(
    ("parts", "ends"),
    [
        ({}, True),
        ({"failed": False}, False),
        ({"on_failure": "fail"}, True),
        ({"on_failure": "wait"}, False),
        ({"on_failure": "wait", "gone": True}, True),
        ({"paused": True}, False),
        ({"at": NOW.replace(hour=9)}, False),
    ],
)
def test_a_task_ends_without_a_run_when_its_time_has_come_with_a_failure(parts, ends):
    assert judged(**parts).ends_at(NOW) is ends
