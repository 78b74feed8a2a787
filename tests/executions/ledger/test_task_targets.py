"""Counts of targets add up by task and day; the alerter's tests recount them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.ledger.task_targets import Ended, count_targets, prune
from executions.loop.clocks import database_now
from executions.models import Execution, TargetDay
from tests.factories import make_execution, make_tenant, once

pytestmark = pytest.mark.django_db


def ended(body: dict[str, object]) -> Ended:
    made = make_execution(make_tenant("acme"), "SUCCEEDED", body)
    Execution.objects.filter(pk=made.pk).update(start_delay_ms=1500.0)
    return Ended(made.pk, made.tenant_id, made.task_id, database_now())


def test_ends_add_up_by_task_and_day() -> None:
    one = ended(once(targets={"start_within_seconds": 1}))
    yesterday = Ended(one.execution_id, one.tenant_id, one.task_id, one.at - timedelta(days=1))

    for _ in range(2):
        count_targets([one])
    count_targets([yesterday])

    found = TargetDay.objects.order_by("day").values_list("starts", "late", "runs", "long")
    assert list(found) == [(1, 1, 0, 0), (2, 2, 0, 0)]


def test_without_targets_nothing_is_counted() -> None:
    count_targets([])
    count_targets([ended(once())])

    assert not TargetDay.objects.exists()


def test_days_that_no_budget_reads_go() -> None:
    now = database_now()
    count_targets([ended(once(targets={"max_duration_seconds": 1}))])

    assert prune(now + timedelta(days=31)) == 0
    assert prune(now + timedelta(days=33)) == 1
    assert not TargetDay.objects.exists()
