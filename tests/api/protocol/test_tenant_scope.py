"""A call works for the tenant of its credentials, and costs one round trip at most for it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, connections

from shared import tenant_scope
from shared.tenant_scope import CLEAR
from tests.executions.leasing import accepted, call
from tests.factories import daily, make_task
from tests.support.walls import WEB_ROLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def trips(monkeypatch):
    """Return the bindings that had a round trip of their own."""
    alone: list[tenant_scope.Binding] = []
    wrapper: Any = type(connections["default"])
    send = wrapper._send

    def noted(self, wanted, *, in_pipeline=False):
        if not in_pipeline and wanted != CLEAR:
            alone.append(wanted)
        return send(self, wanted, in_pipeline=in_pipeline)

    monkeypatch.setattr(wrapper, "_send", noted)
    return alone


@pytest.mark.parametrize("path", ["/v1/me", "/v1/tasks", "/v1/executions", "/v1/pools"])
def test_a_call_binds_its_session_in_one_round_trip_at_most(alpha, client, trips, path):
    make_task(alpha)

    assert client.get(path).status_code == 200

    assert len(trips) <= 1
    assert {one.tenant for one in trips} <= {str(alpha.id)}


def test_a_holders_call_finds_its_tenant_in_the_round_trip_of_a_binding(alpha, trips):
    execution, token = accepted(alpha)
    trips.clear()

    assert call(execution.id, "heartbeat", token).status_code == 200

    assert trips == []


@pytest.mark.django_db(transaction=True)
def test_a_creation_binds_in_the_round_trips_of_its_statements_and_keeps_how_keys_are_found(
    alpha, client, trips, monkeypatch
):
    crossing: list[str] = []
    wrapper: Any = type(connections["default"])
    send = wrapper._send

    def noted(self, wanted, **options):
        if wanted.purpose:
            crossing.append(wanted.purpose)
        return send(self, wanted, **options)

    # The first call notes the use of the key.
    assert client.post("/v1/tasks", daily(), idempotency_key="first").status_code == 201
    trips.clear()
    monkeypatch.setattr(wrapper, "_send", noted)
    with tenant_scope.of_request():
        # As the requests of a web process: no work without a scope is in between.
        for key in ("second", "third"):
            assert client.post("/v1/tasks", daily(), idempotency_key=key).status_code == 201

    assert trips == []
    assert len(crossing) <= 1


def test_the_statements_of_a_call_run_as_the_webs_role_for_its_tenant(alpha, client, beta):
    seen = []

    def look(execute, sql, params, many, context):
        if "FROM tasks" in str(sql) or '"tasks"' in str(sql):
            with connection.connection.cursor() as cursor:
                cursor.execute(
                    "SELECT current_user::text, current_setting('punctual.tenant', true)"
                )
                seen.append(tuple(cursor.fetchone()))
        return execute(sql, params, many, context)

    make_task(beta)
    with connection.execute_wrapper(look):
        assert client.get("/v1/tasks").json()["tasks"] == []

    assert set(seen) == {(WEB_ROLE, str(alpha.id))}


def test_after_a_call_nothing_is_in_scope(client):
    client.get("/v1/tasks")

    assert tenant_scope.current() is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user::text, current_setting('punctual.tenant', true)")
        role, tenant = cursor.fetchone()
    assert role != WEB_ROLE
    assert not tenant


def test_a_call_without_credentials_enters_no_tenant(nobody, trips):
    assert nobody.get("/v1/tasks").status_code == 401

    assert [one for one in trips if one.tenant] == []
