from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api.protocol.pagination import paginate
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.filter_language.conditions import Scope, executions_matching
from insight.filter_language.fields import EXECUTIONS
from insight.filter_language.terms import parse
from shared.ids import moment_of
from tasks.models import Task
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db

_WHOLE = """
SELECT part.relname, whole.relname FROM pg_inherits i
JOIN pg_class part ON part.oid = i.inhrelid
JOIN pg_class whole ON whole.oid = i.inhparent
WHERE whole.relname LIKE 'executions%%idx'
"""


def _indexes_used(plan: dict[str, Any], wholes: dict[str, str]) -> set[str]:
    """Return the indexes of all days that a plan reads a large day by."""
    found = {wholes.get(plan["Index Name"], plan["Index Name"])} if "Index Name" in plan else set()
    return found.union(*(_indexes_used(child, wholes) for child in plan.get("Plans", [])))


def _plan_of(rows: Any) -> set[str]:
    """Return the indexes by which the newest full day of the ledger is read."""
    newest = Execution.objects.order_by("-id")[0].id
    page = rows.filter(id__lte=newest, id__gte=Execution.objects.order_by("-id")[3000].id)
    explained = orjson.loads(page.order_by("-id")[:21].explain(format="json"))
    with connection.cursor() as cursor:
        cursor.execute(_WHOLE)
        wholes = dict(cursor.fetchall())
    return _indexes_used(explained[0]["Plan"], wholes)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({"status": ["CANCELLED"]}, "executions_unsuccessful_idx"),
        ({"status": ["FAILED", "SKIPPED"]}, "executions_unsuccessful_idx"),
        ({"pool": "nowhere"}, "executions_of_pool_idx"),
    ],
)
def test_a_list_finds_what_is_rare_by_an_index_of_its_own(filters: dict[str, Any], index: str):
    tenant = Execution.objects.order_by("-id")[0].tenant_id

    found = Execution.objects.for_tenant(tenant).filtered(filters)

    assert index in _plan_of(found)


def test_a_search_finds_tasks_and_errors_by_an_index_each():
    row = Execution.objects.order_by("-id")[0]

    of_tasks, failed = Execution.objects.for_tenant(row.tenant_id).parts(
        row.tenant_id, {"q": "nothing of the kind"}
    )

    assert not of_tasks.exists()
    # What is open is little here, and may be read whole.
    assert _plan_of(failed) - {"open_executions_with_error_idx"} == {"executions_with_error_idx"}


def _matching(text: str) -> Any:
    row = Execution.objects.order_by("-id")[0]
    scope = Scope(row.tenant_id, database_now())
    rows = Execution.objects.for_tenant(row.tenant_id)
    return executions_matching(rows, parse(text, EXECUTIONS), scope)


def test_a_filter_by_time_reads_its_days_alone():
    day = moment_of(Execution.objects.order_by("-id")[3000].id)
    wanted = f"scheduled:{day:%Y-%m-%d} delay:>1s http:5xx"

    plan = _matching(wanted).order_by("-id")[:21].explain()

    assert set(re.findall(r"executions_(\d{8})", plan)) == {f"{day:%Y%m%d}"}


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("status:cancelled", "executions_unsuccessful_idx"),
        ("pool:nowhere", "executions_of_pool_idx"),
        ("{task}", "executions_of_task_idx"),
    ],
)
def test_a_term_finds_what_is_rare_by_an_index(text: str, index: str):
    task = Execution.objects.order_by("-id")[0].task_id

    assert index in _plan_of(_matching(text.format(task=f"task:{task}")))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def test_a_page_of_tasks_in_a_rare_state_is_found_without_reading_the_others():
    tenant = make_tenant("Alpha")
    make_task(tenant, daily())
    query = {"limit": 20, "page": None, "cursor": None}
    found = Task.objects.for_tenant(tenant.id).filtered({"status": ["CANCELLED"]})
    with CaptureQueriesContext(connection) as asked:
        paginate(found, query, key="tasks", serialize=str)

    with connection.cursor() as cursor:
        # There are few rows here, for which reading them all will do.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("EXPLAIN (FORMAT JSON) " + asked[0]["sql"])
        answer = cursor.fetchone()[0]

    plan = (orjson.loads(answer) if isinstance(answer, str | bytes) else answer)[0]["Plan"]
    read = [
        (node["Node Type"], node["Index Name"]) for node in _nodes(plan) if "Index Name" in node
    ]
    assert ("Index Only Scan", "tasks_by_tenant_idx") in read


def test_tasks_of_an_owner_are_found_in_order_by_an_index_of_their_own():
    tenant = make_tenant("Alpha")
    make_task(tenant, daily(owner="ops@example.com"))
    found = Task.objects.for_tenant(tenant.id).filtered({"owner": "ops@example.com"})

    with connection.cursor() as cursor:
        # There are few rows here, for which any index will do: the others are gone.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("DROP INDEX tasks_by_tenant_idx")
        explained = orjson.loads(found.order_by("-created_at", "-id")[:21].explain(format="json"))

    nodes = list(_nodes(explained[0]["Plan"]))
    assert "tasks_of_owner_idx" in [node.get("Index Name") for node in nodes]
    assert "Sort" not in [node["Node Type"] for node in nodes]
