"""What is due may lie in a few of the partitions: no pass comes back for a handful of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import rows
from tasks.models import Task, TaskCursor
from tenants.models import Tenant
from tests.factories import make_task, once

pytestmark = pytest.mark.django_db


def test_what_is_due_in_few_partitions_is_taken_at_once(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    partitions = Partitions()
    partitions.run_once()
    at = database_now() + timedelta(seconds=4)
    for number in range(30):
        task = make_task(alpha, once(at))
        for rows_of in (Task.objects.filter(pk=task.id), TaskCursor.objects.filter(task=task)):
            rows_of.update(partition=number % 2)
    # As those are that something may decide about.
    TaskCursor.objects.update(execution_id=None)
    looks: list[object] = []

    def noted(path: str, parameters: dict[str, object]) -> Any:
        looks.extend(parameters[key] for key in ("each",) if key in parameters)
        return rows(path, parameters)

    monkeypatch.setattr(materialize, "rows", noted)
    counts = materialize.run_once(partitions)

    assert counts.done == 30
    # The first few of each partition, and then as many as make a batch of the two.
    assert looks == [4, conf().materialize_batch // 2 + 1]
