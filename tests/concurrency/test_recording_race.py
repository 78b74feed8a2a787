"""Outcomes of executions that somebody keeps locked, among others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction

from executions.engine.recording import Recorded, record_in_batches
from executions.engine.transitions import Finish
from executions.models import Execution
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task, once, prepare, release

Beside = Callable[[Callable[[], Any]], Any]
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def finished(tenant: Tenant, count: int) -> list[Finish]:
    """Return that new executions have succeeded."""
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    return [
        Finish(one.id, one.token, 1, "SUCCEEDED", "SUCCEEDED", started_at=NOW, finished_at=NOW)
        for one in release()
    ]


def record_impatiently(said: list[Finish]) -> Recorded:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 50")
    return record_in_batches(said)


@pytest.mark.parametrize("model", [Execution, Task])
def test_a_locked_row_holds_up_nothing_but_itself(alpha: Tenant, beside: Beside, model: Any):
    held, *others = finished(alpha, 3)
    execution = Execution.objects.get(id=held.execution_id)
    locked = execution.id if model is Execution else execution.task_id

    with transaction.atomic():
        model.objects.select_for_update().get(id=locked)
        result = beside(lambda: record_impatiently([held, *others])).join()

    assert (result.done, result.locked) == (2, {held.execution_id})
    assert sorted(result.settled) == sorted(one.token for one in others)
    statuses = Execution.objects.values_list("status", flat=True)
    assert sorted(statuses) == ["QUEUED", "SUCCEEDED", "SUCCEEDED"]

    assert record_in_batches([held]).done == 1
