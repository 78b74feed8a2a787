"""Stored values open under the new key alone once they were sealed anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from operations.resealing import sealing_anew
from operations.resealing.columns import COLUMNS, Column
from operations.resealing.sealing_anew import Resealed, all_counts, counts_by_key, seal_anew
from shared.conf import conf
from shared.encryption import seal
from tasks.models import TaskRevision
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant
from tests.support.workflow_steps import claim, run_step, work_on
from tests.support.workflows import (
    begin_run,
    calls,
    make_workflow,
    payloads_of,
    status_of,
)
from workflows.plan import plan_of
from workflows.retry_requests import request_retry
from workflows.retrying import Retry
from workflows.signals import send_signal

pytestmark = pytest.mark.django_db
OLD, NEW = b"o" * 32, b"n" * 32
UseKeys = Callable[..., None]


@pytest.fixture
def tenant(use_keys: UseKeys) -> Tenant:
    use_keys(old=OLD)
    return make_tenant()


@pytest.fixture
def use_keys(settings: Any) -> UseKeys:
    def use(**keys: bytes) -> None:
        settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)
        plan_of.cache_clear()

    return use


def seal_all() -> dict[str, Resealed]:
    found = {}
    for column in COLUMNS:
        *_, found[f"{column.table}.{column.name}"] = seal_anew(column)
    return found


def open_run(tenant: Tenant) -> UUID:
    """Return a run that has an input, outputs, a fan-out under way and a signal."""
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", max_parallel=1),
        calls("sum", "load", payload="{{ steps.load.output.outputs }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"), {"day": 5})
    run_step(run_id, "list", result=["x", "y", "z"])
    run_step(run_id, "load[0]", result="X")
    send_signal(tenant.id, "paid", "17", {"n": 1}, actor=ACTOR)
    return run_id


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
    ended = begin_run(make_workflow(tenant, [calls("a")]), {"day": 5})
    run_step(ended, "a", "FAILED")
    waiting = begin_run(make_workflow(tenant, [calls("a")]), {"day": 5})
    claim(waiting)
    request_retry(tenant.id, waiting, Retry(cancel_running=True), actor=ACTOR)
    use_keys(new=NEW, old=OLD)

    done = seal_all()

    assert done["ended_workflow_runs.sealed_input"].done == 1
    assert done["workflow_retries.sealed"].done == 1
    assert set(all_counts()) == {"new"}


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: f"{one.table}.{one.name}")
def test_the_statements_of_every_column_run(tenant: Tenant, column: Column):
    assert sum(one.done for one in seal_anew(column)) == 0
    assert set(counts_by_key(column)) <= {"old"}


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
