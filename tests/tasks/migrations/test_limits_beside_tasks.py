"""What stands with a task is filled from its newest version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from tasks.models import Task, TaskCursor
from tests.factories import daily, make_task, make_tenant, once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _beside_again() -> Iterator[None]:
    yield
    call_command("migrate", "tasks", verbosity=0)


def limits() -> list[tuple[Any, ...]]:
    columns = ("id", "max_attempts", "timeout_seconds", "limited")
    return list(Task.objects.order_by("id").values_list(*columns))


def test_limits_are_the_same_after_the_way_back_and_forth():
    alpha = make_tenant("Alpha")
    target = {**daily()["target"], "timeout_seconds": 11}
    make_task(alpha, daily(retry_policy={"max_attempts": 3}, target=target))
    make_task(alpha, daily(schedule={**daily()["schedule"], "max_concurrent": 2}))
    make_task(alpha, once(retry_policy={"max_attempts": 7}))
    before = limits()
    assert [row[1:] for row in before[:2]] == [(3, 11.0, False), (before[1][1], before[1][2], True)]

    call_command("migrate", "tasks", "0022", verbosity=0)
    call_command("migrate", "tasks", verbosity=0)

    assert limits() == before
    # What nothing decides about is not known of tasks that were there.
    assert set(TaskCursor.objects.values_list("execution_id", flat=True)) == {None}
