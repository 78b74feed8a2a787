"""Stored values open under the new key alone once they were sealed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from executions.resealing import sealing_anew
from executions.resealing.columns import COLUMNS, Column
from executions.resealing.sealing_anew import all_counts, counts_by_key, seal_anew
from shared.encryption import seal
from tasks.models import TaskRevision
from tenants.models import Tenant
from tests.executions.resealing.stored import (
    NEW,
    OLD,
    failed_run,
    open_run,
    result_of_work,
    run_that_waits_for_its_retry,
    seal_all,
    working,
)
from tests.factories import finish, make_task
from tests.support.workflow_steps import work_on
from tests.support.workflows import payloads_of, status_of

pytestmark = pytest.mark.django_db
UseKeys = Callable[..., None]


def test_a_run_goes_on_under_the_new_key_alone(tenant: Tenant, use_keys: UseKeys):
    run_id = open_run(tenant)
    use_keys(new=NEW, old=OLD)

    done = seal_all()
    use_keys(new=NEW)

    assert set(all_counts()) == {"new"}
    touched = {name for name, one in done.items() if one.done}
    assert {
        "task_revisions.sealed",
        "open_executions.sealed_payload",
        "ended_executions.sealed_result",
        "workflow_runs.sealed_input",
        "workflow_steps.sealed_output",
        "workflow_fans.sealed_items",
        "workflow_signals.sealed_payload",
    } <= touched
    assert work_on(run_id, lambda key, item: ("SUCCEEDED", f"{key}{item}")) == [
        "load[1]",
        "load[2]",
        "sum",
    ]
    assert payloads_of(run_id, 3) == [["X", "load1", "load2"]]
    assert status_of(run_id) == "SUCCEEDED"


def test_what_has_ended_and_a_retry_that_waits_are_sealed_anew(tenant: Tenant, use_keys: UseKeys):
    failed_run(tenant)
    run_that_waits_for_its_retry(tenant)
    use_keys(new=NEW, old=OLD)

    done = seal_all()

    assert done["ended_workflow_runs.sealed_input"].done == 1
    assert done["workflow_retries.sealed"].done == 1
    assert set(all_counts()) == {"new"}


def test_many_values_are_sealed_anew_in_batches(
    tenant: Tenant, use_keys: UseKeys, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sealing_anew, "_AT_ONCE", 2)
    for _ in range(5):
        make_task(tenant)
    use_keys(new=NEW, old=OLD)

    results = [one.done for one in seal_anew(COLUMNS[0])]

    assert len(results) == 3
    assert results[-1] == 5
    assert counts_by_key(COLUMNS[0]) == {"new": 5}
    assert [one.done for one in seal_anew(COLUMNS[0])] == [0]


def test_long_values_are_read_few_at_once(
    tenant: Tenant, use_keys: UseKeys, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(5):
        make_task(tenant)
    longest = max(len(one.sealed) for one in TaskRevision.objects.all())
    monkeypatch.setattr(sealing_anew, "_BYTES_AT_ONCE", longest + 1)
    use_keys(new=NEW, old=OLD)

    assert [one.done for one in seal_anew(COLUMNS[0])] == [2, 4, 5]
    assert counts_by_key(COLUMNS[0]) == {"new": 5}


def test_values_that_are_locked_for_long_together_are_written_by_several_transactions(
    tenant: Tenant, use_keys: UseKeys, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(3):
        make_task(tenant)
    monkeypatch.setattr(sealing_anew, "_BYTES_LOCKED", 1)
    writes: list[int] = []
    write = sealing_anew._write

    def noting(column: Column, stretch: str, values: Sequence[Any]) -> int:
        writes.append(len(values))
        return write(column, stretch, values)

    monkeypatch.setattr(sealing_anew, "_write", noting)
    use_keys(new=NEW, old=OLD)

    *_, result = seal_anew(COLUMNS[0])

    assert (writes, result.done) == ([1, 1, 1], 3)


def test_a_value_that_no_key_opens_stays_and_is_counted(tenant: Tenant, use_keys: UseKeys):
    lost = make_task(tenant)
    make_task(tenant)
    use_keys(gone=b"g" * 32)
    sealed = seal(b"{}", b"elsewhere")
    TaskRevision.objects.filter(task=lost).update(sealed=sealed)
    use_keys(new=NEW, old=OLD)

    [result] = list(seal_anew(COLUMNS[0]))

    assert (result.done, result.unreadable) == (1, 1)
    assert bytes(TaskRevision.objects.get(task=lost).sealed) == sealed
    assert counts_by_key(COLUMNS[0]) == {"gone": 1, "new": 1}


def test_an_outcome_recorded_after_everything_was_sealed_anew_is_counted(
    tenant: Tenant, use_keys: UseKeys
):
    row = working(tenant)
    in_flight = result_of_work(row)
    use_keys(new=NEW, old=OLD)
    seal_all()
    assert set(all_counts()) == {"new"}

    finish(row, sealed_result=in_flight)

    assert all_counts()["old"] == 1
    seal_all()
    assert set(all_counts()) == {"new"}
