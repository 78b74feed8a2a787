"""A tenant's feed reads its own events by one index, whatever other tenants have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.db import connection
from psycopg import Cursor

from events.feed import read_page
from events.feed_places import place_at_the_end
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from notifications.services.event_subscriptions import create_subscription
from shared import tenant_scope
from shared.ids import new_id
from shared.sql import rows, statement
from tests.factories import ACTOR, make_tenant

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


def _explained(ask: Callable[[], object], name: str) -> list[dict[str, Any]]:
    """Return the reads of tables in the plan of a statement that runs."""
    found: list[dict[str, Any]] = []

    def explain(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if sql == statement(name):
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                [(answer,)] = cursor.fetchall()
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            found.append(parsed[0]["Plan"])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        ask()
    [plan] = found
    return [node for node in _nodes(plan) if "Relation Name" in node]


@pytest.fixture
def tenant(db: None) -> UUID:
    """Return a tenant with a few of many events."""
    tenant, now = new_id(), database_now()
    ledger.ensure_days_ahead(now)
    with connection.cursor() as cursor:
        cursor.execute(_MANY, [tenant])
        cursor.execute("ANALYZE events")
    return tenant


def _by_tenant_alone(scans: list[dict[str, Any]]) -> None:
    today = f"events_{database_now():%Y%m%d}"
    [scan] = [node for node in scans if node["Relation Name"] == today]
    assert "tenant_id" in scan["Index Cond"]
    assert re.search(r"ROW\([a-z_, ]*xid, id\) >", scan["Index Cond"]), "it begins at the place"


@pytest.mark.parametrize("by_web", [False, True])
def test_a_page_finds_its_tenants_events_by_their_index(tenant: UUID, by_web: bool):
    place = place_at_the_end(3, database_now())

    with tenant_scope.of_request() if by_web else nullcontext():
        tenant_scope.enter(tenant)
        scans = _explained(lambda: read_page(tenant, place), "event_feed/page")

    _by_tenant_alone(scans)


def test_a_subscription_is_judged_by_the_events_of_its_tenant_alone(tenant: UUID):
    owner = make_tenant("Alpha")
    create_subscription(
        owner.id, url="https://events.example.com/x", types=["task.changed"], actor=ACTOR
    )

    _by_tenant_alone(_explained(lambda: rows("event_webhooks/wake"), "event_webhooks/wake"))
