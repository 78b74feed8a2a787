"""Last runs of recurring tasks lose nothing on either way; those of one-time tasks stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from tasks.models import Task
from tests.factories import (
    daily,
    every_second,
    finish,
    make_task,
    make_tenant,
    once,
    prepare,
    release,
)

pytestmark = pytest.mark.django_db(transaction=True)

_COLUMNS = "last_execution_id::text, last_execution_status, last_execution_at, last_success_at"
_NONE = (None, "", None, None)


@pytest.fixture(autouse=True)
def _apart_again() -> Iterator[None]:
    yield
    call_command("migrate", "tasks", verbosity=0)


def stored(table: str, key: str, task: Task) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_COLUMNS} FROM {table} WHERE {key} = %s", [task.id])
        return tuple(cursor.fetchone())


def test_last_runs_lose_nothing_on_either_way():
    alpha = make_tenant("Alpha")
    single = make_task(alpha, once())
    recurring, fresh = make_task(alpha, every_second()), make_task(alpha, daily())
    prepare()
    for row in release():
        finish(row)
    runs = {task.id: Task.objects.get(pk=task.id).last_run for task in (single, recurring, fresh)}
    assert [run.status for run in runs.values()] == ["SUCCEEDED", "SUCCEEDED", ""]
    assert stored("tasks", "id", recurring) == _NONE

    call_command("migrate", "tasks", "0021", verbosity=0)

    for task in (single, recurring, fresh):
        execution, *rest = stored("tasks", "id", task)
        assert (execution, *rest) == (
            str(runs[task.id].execution_id) if runs[task.id].execution_id else None,
            *runs[task.id][1:],
        )

    call_command("migrate", "tasks", verbosity=0)

    assert {id_: Task.objects.get(pk=id_).last_run for id_ in runs} == runs
    assert stored("tasks", "id", recurring) == _NONE
