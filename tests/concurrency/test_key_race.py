"""Places of a key beside another scheduler, an edit and the recorder, in real sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from executions.changes import withdrawal
from executions.gate import keys
from executions.gate.keys import Key, Seen
from executions.loop.counts import Counts
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared import sql
from tenants.models import Tenant
from tests.executions.gate.key_world import FIFO, at_most, begin, look, make
from tests.factories import finish

Beside = Callable[[Callable[[], Any]], Any]


def scheduler() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def places(tenant: Tenant) -> int:
    return Execution.objects.filter(tenant_id=tenant.id, key_place__gt=0).count()


@pytest.mark.parametrize("moment", ["keys/take", "keys/due", "keys/lock"])
def test_two_schedulers_give_no_more_than_the_number(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, moment: str
):
    make(alpha, 5, at_most(2))
    partitions = scheduler()
    others: list[Counts] = []
    rows = sql.rows

    def rows_of_first(path: str, parameters: Any = None) -> Any:
        if path == moment:
            monkeypatch.setattr(keys, "rows", rows)
            others.append(beside(lambda: keys.run_once(partitions, Seen())).join())
        return rows(path, parameters)

    monkeypatch.setattr(keys, "rows", rows_of_first)
    done = keys.run_once(partitions, Seen()).done

    assert len(others) == 1
    assert sorted([done, others[0].done]) == [0, 2]
    assert places(alpha) == 2


def test_many_looks_at_once_give_no_more_than_the_number(alpha: Tenant, beside: Beside):
    make(alpha, 9, at_most(3))
    partitions = scheduler()

    for _ in range(3):
        for one in [beside(lambda: keys.run_once(partitions, Seen())) for _ in range(5)]:
            one.join()
        assert places(alpha) == 3


def test_a_first_one_that_is_being_changed_is_waited_for_and_not_passed(
    alpha: Tenant, beside: Beside
):
    first, second = make(alpha, 2, FIFO)

    with transaction.atomic():
        withdrawal.lock(first.id)
        counts = beside(look).join()

    assert (counts.done, places(alpha)) == (0, 0)
    assert counts.next_in <= 0.1
    assert look().done == 1
    assert Execution.objects.get(task_id=first.id).key_place == 2
    assert Execution.objects.get(task_id=second.id).key_place == 0


def test_an_end_that_commits_later_is_found_by_its_wake_up(alpha: Tenant, beside: Beside):
    make(alpha, 2, at_most(1))
    look()
    (row,) = begin()

    with transaction.atomic():
        finish(row)
        counts = beside(look).join()

    assert counts.done == 0
    assert counts.next_in <= 1.0
    assert look().done == 1


def test_keys_fall_to_one_partition_each(alpha: Tenant):
    found = {Key(alpha.id, f"k{number}").partition(256) for number in range(200)}

    assert len(found) > 60
    assert all(0 <= one < 256 for one in found)
