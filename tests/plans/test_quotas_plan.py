from __future__ import annotations

from typing import Any

import pytest

from tasks import quotas
from tasks.models import TaskRevision
from tests.factories import make_task, make_tenant

pytestmark = pytest.mark.django_db


def test_what_a_tenant_stores_is_counted_without_reading_what_others_store(plans: Any):
    tenant = make_tenant("Small")
    make_task(tenant)

    with plans() as found:
        assert quotas.recount(tenant.id) == (
            1,
            len(TaskRevision.objects.get(task__tenant=tenant).sealed),
        )

    found.check("stored/tasks", "stored/payload_bytes")
