from __future__ import annotations

from uuid import uuid4

import pytest

from events.models import AuditEntry
from executions.erasure import steps
from executions.erasure.requests import erase_task, get_erasure, list_erasures
from executions.models import Erasure
from operations.tenant_removal import remove_history, remove_tenant
from shared.exceptions import Conflict, InvalidInput, NotFound
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_task

pytestmark = pytest.mark.django_db


def begin(tenant: Tenant, task: Task, reason: str = "asked for") -> Erasure:
    return erase_task(tenant.id, task.id, reason=reason, actor=ACTOR)


def test_erasing_deletes_the_task_and_is_audited(alpha: Tenant):
    task = make_task(alpha)

    erasure = begin(alpha, task)

    task.refresh_from_db()
    assert task.deleted_at is not None
    actions = AuditEntry.objects.filter(tenant_id=alpha.id).values_list("action", flat=True)
    assert {"task.deleted", "erasure.begun"} <= set(actions)
    while steps.run_some(erasure.id):
        pass
    assert AuditEntry.objects.filter(action="erasure.completed", object_id=erasure.id).exists()


def test_another_tenants_task_is_not_found_and_stays(alpha: Tenant, beta: Tenant):
    task = make_task(alpha)

    with pytest.raises(NotFound):
        begin(beta, task)
    with pytest.raises(NotFound):
        erase_task(alpha.id, uuid4(), reason="asked for", actor=ACTOR)

    task.refresh_from_db()
    assert task.deleted_at is None
    assert not Erasure.objects.exists()


def test_a_second_one_is_refused_while_the_first_is_under_way(alpha: Tenant):
    task = make_task(alpha)
    first = begin(alpha, task)

    with pytest.raises(Conflict) as refused:
        begin(alpha, task)

    assert refused.value.code == "already_erasing"
    while steps.run_some(first.id):
        pass
    # A day may have come back from an archive.
    assert begin(alpha, task).id != first.id


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "two\nlines", "nul\0"])
def test_a_reason_is_one_line(alpha: Tenant, reason: str):
    task = make_task(alpha)

    with pytest.raises(InvalidInput) as refused:
        begin(alpha, task, reason)

    assert refused.value.errors[0].pointer == "#/reason"
    assert not Erasure.objects.exists()


def test_a_tenant_reads_its_own_certificates_alone(alpha: Tenant, beta: Tenant):
    erasure = begin(alpha, make_task(alpha))

    assert get_erasure(alpha.id, erasure.id) == erasure
    assert not list_erasures(beta.id).exists()
    with pytest.raises(NotFound):
        get_erasure(beta.id, erasure.id)


def test_a_certificate_outlives_its_tenant(alpha: Tenant):
    erasure = begin(alpha, make_task(alpha))
    tenant_id = alpha.id
    remove_history(alpha)
    remove_tenant(alpha, actor=ACTOR)

    assert Erasure.objects.get().tenant_id == tenant_id == erasure.tenant_id
