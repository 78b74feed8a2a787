from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from tasks.models import TaskCursor
from tests.factories import daily, make_task, make_tenant, once

pytestmark = pytest.mark.django_db


def test_a_cursor_goes_with_its_task():
    task = make_task(make_tenant("Alpha"), daily())
    assert str(TaskCursor.objects.get()) == str(task.id)

    task.delete()

    assert not TaskCursor.objects.exists()


@pytest.mark.parametrize("body", [once, daily])
def test_a_task_that_has_not_run_has_one_cursor(body: Callable[[], dict[str, Any]]):
    task = make_task(make_tenant("Alpha"), body())
    second = TaskCursor(
        task=task, tenant_id=task.tenant_id, partition=task.partition, next_run_at=task.created_at
    )

    with pytest.raises(IntegrityError, match="task_cursors_not_run_key"), transaction.atomic():
        second.save(force_insert=True)

    assert TaskCursor.objects.count() == 1


def test_no_key_compares_a_version_with_all_before():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT array_agg(indexrelid::regclass::text) FROM pg_index"
            " WHERE indrelid = 'task_cursors'::regclass AND indisunique AND indpred IS NULL"
        )
        assert cursor.fetchall() == [(None,)]
