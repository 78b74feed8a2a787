from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError

from events.models import AuditEntry, Event
from executions.models import Execution
from executions.triggering.receiver_requests import segment
from operations.storm.scratch import (
    ledger_of,
    left_behind,
    patiently,
    remove,
    scratch,
    tenants_with_due_work,
)
from tasks.models import Task
from tenants.models import ApiKey, Tenant
from tests.factories import make_execution, make_task, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)


def body(schedule: dict[str, object]) -> dict[str, object]:
    return {"schedule": schedule, "target": {"url": "https://api.example.com/x"}}


def test_the_tenant_and_its_ledger_are_there_for_the_block_and_gone_afterwards(tmp_path: Path):
    with scratch(tmp_path) as made:
        make_execution(Tenant.objects.get(id=made.tenant_id), "SUCCEEDED")
        assert made.ledger == tmp_path / "ledgers" / f"{segment(made.tenant_id)}.jsonl"
        assert made.ledger.read_text() == ""
        assert ApiKey.objects.filter(tenant_id=made.tenant_id).exists()

    assert not Tenant.objects.filter(id=made.tenant_id).exists()
    assert not Execution.objects.filter(tenant_id=made.tenant_id).exists()
    assert not Event.objects.filter(tenant_id=made.tenant_id).exists()
    assert AuditEntry.objects.filter(tenant_id=made.tenant_id, action="tenant.removed").exists()
    assert not made.ledger.exists()


def test_an_interrupted_storm_leaves_nothing(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt), scratch(tmp_path) as made:
        raise KeyboardInterrupt

    assert not Tenant.objects.filter(id=made.tenant_id).exists()
    assert not made.ledger.exists()


def test_a_kept_tenant_is_found_and_removed_later(tmp_path: Path):
    make_tenant("storm-somebody-elses")
    with scratch(tmp_path, keep=True) as made:
        task = make_task(Tenant.objects.get(id=made.tenant_id))

    [tenant] = left_behind()
    assert ledger_of(tmp_path, tenant) == made.ledger
    remove(tenant)

    assert made.ledger.exists()
    assert not Task.objects.filter(id=task.id).exists()
    assert left_behind() == []


def test_tenants_with_work_that_is_due_meanwhile_are_counted():
    first, second, third = make_tenant("first"), make_tenant("second"), make_tenant("third")
    make_execution(first, "QUEUED")
    make_task(second, body({"every": "PT50S"}))
    make_task(third, body({"delay_seconds": 86_400}))

    assert tenants_with_due_work(timedelta(minutes=1)) == 2


def test_a_removal_waits_for_a_database_that_comes_back():
    answers = iter([OperationalError("away"), OperationalError("starting up"), None])

    def work() -> None:
        error = next(answers)
        if error is not None:
            raise error

    patiently(work)

    assert next(answers, "none left") == "none left"
