"""A tenant's feed reads its own events by one index, whatever other tenants have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import orjson
import pytest
from django.db import connection
from psycopg import Cursor

from events.feed import read_page
from events.feed_places import place_at_the_end
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared import tenant_scope
from shared.ids import new_id
from shared.sql import statement

pytestmark = pytest.mark.django_db

_MANY = """
INSERT INTO events (tenant_id, name, subject_id)
SELECT CASE WHEN n %% 500 = 0 THEN %s ELSE uuidv7() END, 'task.changed', uuidv7()
FROM generate_series(1, 20000) AS n
"""


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


@pytest.mark.parametrize("by_web", [False, True])
def test_a_page_finds_its_tenants_events_by_their_index(by_web: bool):
    tenant, now = new_id(), database_now()
    ledger.ensure_days_ahead(now)
    with connection.cursor() as cursor:
        cursor.execute(_MANY, [tenant])
        cursor.execute("ANALYZE events")
    found: list[dict[str, Any]] = []

    def explain(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if sql == statement("event_feed/page"):
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                [(answer,)] = cursor.fetchall()
            found.append(orjson.loads(answer) if isinstance(answer, str | bytes) else answer)
        return execute(sql, params, many, context)

    with (
        connection.execute_wrapper(explain),
        tenant_scope.of_request() if by_web else nullcontext(),
    ):
        tenant_scope.enter(tenant)
        read_page(tenant, place_at_the_end(3, now))

    [[plan]] = found
    scans = [node for node in _nodes(plan["Plan"]) if "Relation Name" in node]
    today = [node for node in scans if node["Relation Name"] == f"events_{now:%Y%m%d}"]
    assert len(today) == 1
    assert "events_" in today[0]["Index Name"]
    assert "tenant_id" in today[0]["Index Cond"]
    assert "ROW(xid, id)" in today[0]["Index Cond"]
    # Of the days before, only the last one can have an event that was not read.
    assert all(node["Relation Name"] >= f"events_{now:%Y}" for node in scans)
