"""What stands with a task, so that nothing of its definition need be read to prepare it."""

from __future__ import annotations

import pytest

from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tests.executions.changes.changes import patch
from tests.factories import daily, make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def test_what_is_prepared_has_the_limits_of_the_newest_version(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, daily(retry_policy={"max_attempts": 3}))
    patch(
        task,
        {
            "schedule": {"every": "PT1S", "max_concurrent": 2, "cron_expression": None},
            "retry_policy": {"max_attempts": 7},
            "target": {"timeout_seconds": 11},
        },
    )
    while materialize.run_once(partitions).done:
        pass

    made = Execution.objects.filter(task=task).first()

    assert made is not None
    assert (made.max_attempts, made.timeout_seconds, made.gated) == (7, 11, True)
