from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from django.db import connection, transaction
from django.db.models import F
from psycopg import Cursor

from executions import transitions
from executions.destinations.limits import get_destination
from executions.dispatch.shares import flows
from executions.dispatch.stage import Dispatcher
from executions.dispatch.tenant_limits import TenantLimits
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import rows, statement
from tenants.models import Tenant
from tenants.quotas import known
from tenants.services import active_signing_secrets
from tests.factories import make_execution, make_task, make_tenant, once, prepare
from tests.support.backlogs import backlog
from tests.support.beats import beat

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_claiming_touches_the_days_with_unfinished_work_only(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    beat("w1", slots=100)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)

    with plans() as found:
        assert dispatcher.run_once().done == 30

    assert Execution.objects.filter(status="QUEUED").count() == 30
    found.check("dispatch/waiting", "dispatch/claim_due", "dispatch/next_due", "dispatch/leased")


def test_parked_work_is_found_by_its_destination_in_the_days_with_unfinished_work(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    Execution.objects.filter(tenant=alpha).update(parked=True)
    beat("w1", slots=100)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)

    with plans() as found:
        shown = get_destination(alpha.id, "api.example.com")
        assert dispatcher.run_once().done == 30

    assert shown.parked == 30
    found.check("dispatch/claim_due", "dispatch/parked_destinations", "dispatch/limits")
    found.check("destinations/work")


def test_what_was_just_made_is_claimed_by_its_ids(plans: Any):
    alpha = make_tenant("Alpha")
    made = [make_execution(alpha) for _ in range(3)]
    Execution.objects.update(due_at=F("due_at") - timedelta(minutes=1))
    Partitions().run_once()

    with plans() as found:
        claimed = rows(*transitions.marking_queued_at_once([row.id for row in made], "now"))

    assert len(claimed) == 3
    found.check("dispatch/claim_these")


def test_a_flood_of_a_tenant_without_places_is_not_read(plans: Any):
    alpha, beta, gamma = (make_tenant(name) for name in ("Alpha", "Beta", "Gamma"))
    backlog(alpha, 5000, age=900)
    backlog(beta, 30)
    backlog(gamma, 30)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")
    beat("w1", slots=60, hold=0)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)
    dispatcher.shares.note("default", scarce=True)
    visited: list[int] = []

    def counted(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if sql == statement("dispatch/claim_by_shares"):
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, params)
                [(answer,)] = cursor.fetchall()
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            visited.append(_rows_read(parsed[0]["Plan"]))
            raise _Enough
        return execute(sql, params, many, context)

    def look(limits: TenantLimits) -> None:
        limits.places = {alpha.id: 0}

    with patch.object(TenantLimits, "look", look), plans() as found:
        with transaction.atomic(), connection.execute_wrapper(counted), suppress(_Enough):
            dispatcher.run_once()
        Execution.objects.filter(status="QUEUED").delete()

    assert visited
    assert visited[0] <= 200
    found.check("shares/waiting")
    found.check_in_order("shares/waiting")


def test_claims_by_shares_go_by_the_index_of_tenants(plans: Any):
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    backlog(alpha, 3000, age=900)
    backlog(beta, 30)
    beat("w1", slots=100, hold=0)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)
    dispatcher.shares.note("default", scarce=True)

    with plans() as found:
        assert dispatcher.run_once().done > 50

    found.check("dispatch/claim_by_shares", "shares/waiting", "dispatch/leased")
    assert "open_executions_flow_idx" in found.found["dispatch/claim_by_shares"][0].indexes
    assert found.found["shares/waiting"][0].indexes == {"open_executions_flow_idx"}


def test_slow_looks_jump_from_one_tenant_to_the_next_by_the_index_of_tenants(
    plans: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(flows, "_SLOW_SECONDS", 0.0)
    monkeypatch.setattr(flows, "_WHOLE_TIMES", 1e9)
    tenants = [make_tenant(str(number)) for number in range(3)]
    for tenant in tenants:
        backlog(tenant, 30, age=900)
    flow = flows.Flows("default")
    flow.look(0.5)
    Execution.objects.filter(tenant=tenants[1]).delete()
    with connection.cursor() as cursor:
        # As with a table that is too large to be read whole and sorted.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")

    with plans() as found:
        flow.look(0.5)

    assert set(flow.known) == {tenants[0].id, tenants[2].id}
    found.check("shares/waiting_from")
    assert found.found["shares/waiting_from"][0].indexes == {"open_executions_flow_idx"}


def test_a_claim_within_limits_of_tiers_reads_only_the_tenants_of_its_batch(
    plans: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(known, "_executions", (float("-inf"), {}))
    monkeypatch.setattr(known, "_apart", frozenset())
    settings.PUNCTUAL = replace(conf(), tiers={"default": {"executions_in_flight": 2}})
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    Tenant.objects.bulk_create(Tenant(name=f"Other {number}") for number in range(3000))
    backlog(alpha, 300)
    backlog(beta, 30)
    beat("w1", slots=1000, hold=10_000)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)

    with plans() as found:
        assert dispatcher.run_once().done == 18

    found.check("dispatch/claim_due_within", "dispatch/leased_by_tenant")
    for plan in found.found["dispatch/claim_due_within"]:
        assert "tenants" not in plan.read_whole
        assert "tenants_pkey" in plan.indexes


class _Enough(Exception):
    """The statement was explained."""


def _rows_read(node: dict[str, Any]) -> int:
    """Return how many entries of open executions the plan has read, taken or not."""
    own = 0
    if node.get("Relation Name") == "open_executions" and node["Node Type"] != "ModifyTable":
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        own = round(rows * node["Actual Loops"])
    return own + sum(_rows_read(child) for child in node.get("Plans", []))
