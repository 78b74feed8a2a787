"""An alert of a condition opens once, counts its tasks, and ends with the condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from executions.models import Execution
from notifications.models import Alert, AlertTask
from tenants.models import Tenant
from tests.notifications.time_checks.world import (
    ASKED,
    LATE,
    LONG,
    NONE,
    ago,
    approval,
    due,
    judged,
    running,
    unprepared,
)
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db

Situation = Callable[[Tenant], Any]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda t: unprepared(t, 25), LATE),
        (lambda t: due(t, 70, pool="gpu"), NONE),
        (lambda t: running(t, 70, targets={"max_duration_seconds": 60}), LONG),
        (lambda t: approval(t, 1), ASKED),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_it_opens_once_and_ends_with_its_condition(
    alpha: Tenant, make: Situation, expected: list[str]
):
    make(alpha)
    for _ in range(3):
        assert judged(alpha) == expected
    [alert] = Alert.objects.all()
    assert (alert.count, alert.task_count, alert.closed_at) == (1, 1, None)

    Execution.objects.filter(tenant=alpha).update(due_at=ago(-60), started_at=ago(-60))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE task_cursors SET next_run_at = %s", [ago(-3600)])
        cursor.execute("DELETE FROM workflow_waits")

    assert judged(alpha) == []
    alert.refresh_from_db()
    assert alert.recovered_at is not None
    assert Alert.objects.count() == 1


def test_one_alert_counts_each_task_once(alpha: Tenant):
    tasks = [unprepared(alpha, 25 + n) for n in range(3)]
    judged(alpha)
    change_task(tasks[0].id, next_run_at=ago(-3600))
    tasks.append(unprepared(alpha, 90))
    judged(alpha)

    [alert] = Alert.objects.all()
    assert (alert.count, alert.task_count) == (4, 4)
    assert set(AlertTask.objects.values_list("task_id", flat=True)) == {one.id for one in tasks}
    assert alert.task_id == tasks[2].id, "the one that was overdue longest when it opened"


def test_one_that_comes_back_while_it_is_open_goes_on(alpha: Tenant):
    task = unprepared(alpha, 25)
    judged(alpha)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE task_cursors SET next_run_at = %s", [ago(-60)])
    assert judged(alpha) == []

    with connection.cursor() as cursor:
        cursor.execute("UPDATE task_cursors SET next_run_at = %s", [ago(40)])

    assert judged(alpha) == LATE
    [alert] = Alert.objects.all()
    assert (alert.count, alert.flaps, alert.task_id) == (1, 1, task.id)


def test_slow_calls_are_one_alert_for_each_destination(alpha: Tenant):
    slow = {"max_duration_seconds": 60}
    for host in ("a", "a", "b"):
        running(alpha, 70, targets=slow, target={"url": f"https://{host}.example.com/"})
    judged(alpha)

    found = Alert.objects.order_by("destination").values_list("destination", "count")
    assert list(found) == [("a.example.com", 2), ("b.example.com", 1)]
