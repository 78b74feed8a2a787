from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.models import BulkJob, Execution
from operations import tenant_removal
from operations.tenant_removal import remove_history, rows_of_tenants
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_execution, make_task, make_tenant


def test_rows_go_before_those_that_they_point_to():
    found = rows_of_tenants()

    for model in found:
        for field in model._meta.concrete_fields:
            if field.related_model in found and field.related_model is not model:
                assert found.index(model) < found.index(field.related_model), field


def test_every_tenants_row_goes_but_the_audit_log():
    found = rows_of_tenants()

    assert {Task, BulkJob} <= set(found)
    assert not {AuditEntry, Tenant, Execution} & set(found)


@pytest.mark.django_db
def test_what_is_much_goes_in_batches_before_the_tenant(monkeypatch):
    alpha, beta = make_tenant("alpha"), make_tenant("beta")
    monkeypatch.setattr(tenant_removal, "_BATCH", 2)
    for _ in range(5):
        make_task(alpha)
    make_execution(alpha)
    kept = make_task(beta)

    remove_history(alpha)

    assert list(Task.objects.values_list("id", flat=True)) == [kept.id]
    assert not Execution.objects.exists()
    assert AuditEntry.objects.filter(tenant_id=alpha.id).exists()
