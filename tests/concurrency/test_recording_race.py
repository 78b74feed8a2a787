"""Outcomes of executions that somebody keeps locked, among others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from executions.complete.recording import Recorded, record_in_batches
from executions.models import Execution
from executions.transitions import Finish
from tasks.models import Task
from tenants.models import Tenant
from tests.support.outcomes import finished

Beside = Callable[[Callable[[], Any]], Any]


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
        model.objects.select_for_update(of=("self",)).get(id=locked)
        result = beside(lambda: record_impatiently([held, *others])).join()

    assert (result.done, result.locked) == (2, {held.execution_id})
    assert sorted(result.settled) == sorted(one.token for one in others)
    statuses = Execution.objects.values_list("status", flat=True)
    assert sorted(statuses) == ["QUEUED", "SUCCEEDED", "SUCCEEDED"]

    assert record_in_batches([held]).done == 1
