from __future__ import annotations

from events.models import AuditEntry
from executions.models import BulkJob, Execution
from scheduler_site.tenant_removal import rows_of_tenants
from tasks.models import Task
from tenants.models import Tenant


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
