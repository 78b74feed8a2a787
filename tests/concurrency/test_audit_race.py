from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from events import audit
from events.models import AuditEntry
from tenants.models import Tenant
from tests.factories import ACTOR

Beside = Callable[[Callable[[], Any]], Any]


def record(tenant: UUID, number: int = 1) -> list[str]:
    changes = [audit.Change("task.updated", "task", uuid4()) for _ in range(number)]
    audit.record_many(tenant, ACTOR, changes)
    return [str(change.object_id) for change in changes]


def test_who_waits_for_the_end_of_the_chain_goes_on_behind_it(alpha: Tenant, beside: Beside):
    record(alpha.id)
    before, _ = audit.verify(alpha.id)
    with transaction.atomic():
        record(alpha.id, 3)
        waiting = beside(lambda: record(alpha.id, 2))
        assert waiting.waits_for_a_lock()

    last = AuditEntry.objects.filter(tenant_id=alpha.id, sequence__gt=before + 3)
    assert waiting.join() == list(last.order_by("sequence").values_list("object_id", flat=True))
    assert audit.verify(alpha.id) == (before + 5, None)
    record(alpha.id)
    assert audit.verify(alpha.id) == (before + 6, None)


def test_two_that_begin_a_chain_make_one(alpha: Tenant, beside: Beside):
    tenant = uuid4()  # one that has no entry yet
    with transaction.atomic():
        record(tenant)
        waiting = beside(lambda: record(tenant))
        assert waiting.waits_for_a_lock()

    waiting.join()

    assert audit.verify(tenant) == (2, None)
