"""Row security leaves the plans as they are: the web's searches find by the same indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db import connection

from events.models import AuditEntry
from executions.models import Attempt, DeadLetter, Execution
from shared import tenant_scope
from tasks.models import Task, TaskCursor
from tenants.models import IdempotencyRecord
from tests.support.walls import WEB_ROLE

pytestmark = pytest.mark.django_db

_SEARCHES: dict[str, Callable[[Any], Any]] = {
    "tasks in order": lambda tenant: Task.objects.for_tenant(tenant).order_by("-created_at", "-id"),
    "paused tasks": lambda tenant: Task.objects.for_tenant(tenant).filtered({"status": ["PAUSED"]}),
    "a label": lambda tenant: Task.objects.for_tenant(tenant).filtered({"label": "team"}),
    "a label's value": lambda tenant: Task.objects.for_tenant(tenant).filtered({"label": "a:b"}),
    "an owner": lambda tenant: Task.objects.for_tenant(tenant).filtered({"owner": "a@example.com"}),
    "one task": lambda tenant: Task.objects.for_tenant(tenant).filter(pk=tenant),
    "next instants": lambda tenant: TaskCursor.objects.filter(
        tenant_id=tenant, held=False, next_run_at__isnull=False
    ).order_by("next_run_at"),
    "executions in order": lambda tenant: Execution.objects.for_tenant(tenant).order_by("-id"),
    "rare executions": lambda tenant: (
        Execution.objects.for_tenant(tenant).filtered({"status": ["CANCELLED"]}).order_by("-id")
    ),
    "executions of a pool": lambda tenant: (
        Execution.objects.for_tenant(tenant).filtered({"pool": "nowhere"}).order_by("-id")
    ),
    "attempts": lambda tenant: Attempt.objects.filter(execution_id=tenant, tenant_id=tenant),
    "open letters": lambda tenant: DeadLetter.objects.for_tenant(tenant).filter(resolved=False),
    "audit of an actor": lambda tenant: AuditEntry.objects.filter(
        tenant_id=tenant, actor="user:1"
    ).order_by("-sequence"),
    "an answer": lambda tenant: IdempotencyRecord.objects.filter(tenant_id=tenant, key="k"),
}


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def _indexes(rows: Any) -> set[str]:
    with connection.cursor() as cursor:
        # Tables of tests are small: reading them whole would do.
        cursor.execute("SET LOCAL enable_seqscan = off")
    [found] = orjson.loads(rows[:21].explain(format="json"))
    # Reading for the policy's parent is not how the rows are found.
    return {node["Index Name"] for node in _nodes(found["Plan"]) if "Index Name" in node}


@pytest.mark.parametrize("name", _SEARCHES)
def test_a_search_goes_by_the_same_indexes_with_row_security(name: str):
    tenant = Execution.objects.order_by("-id")[0].tenant_id
    search = _SEARCHES[name]

    by_owner = _indexes(search(tenant))
    with tenant_scope.of_request():
        tenant_scope.enter(tenant)
        by_web = _indexes(search(tenant))

    assert by_web == by_owner
    assert by_owner


def test_no_policy_applies_to_the_owner_as_whom_the_loops_run():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT bool_or(row_security_active(c.oid)) FROM pg_class c"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity"
        )
        assert cursor.fetchone() == (False,)
        cursor.execute("SELECT set_config('role', %s, true)", [WEB_ROLE])
        cursor.execute(
            "SELECT row_security_active('tasks'), row_security_active('open_executions')"
        )
        assert cursor.fetchone() == (True, True)
        cursor.execute("SELECT set_config('role', 'none', true)")
