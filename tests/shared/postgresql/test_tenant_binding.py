"""A session is bound to the tenant in scope before each statement, and never to one of before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import ServerBindingCursor

from shared import tenant_scope
from shared.tenant_scope import NoTenantScope, Purpose
from tests.support.walls import WEB_ROLE

pytestmark = pytest.mark.django_db(transaction=True)

ALIAS = "another_request"
ALPHA, BETA = str(uuid4()), str(uuid4())
_STATE = (
    "SELECT current_user::text, coalesce(current_setting('punctual.tenant', true), ''),"
    " coalesce(current_setting('punctual.purpose', true), '')"
)


@pytest.fixture
def wrapper() -> Iterator[BaseDatabaseWrapper]:
    made = connections.create_connection("default")
    connections[ALIAS] = made
    yield made
    made.close()
    del connections[ALIAS]


@pytest.fixture
def bound(wrapper, monkeypatch) -> list[dict[str, Any]]:
    """Return what bindings the connection sends, one for each round trip."""
    sent: list[dict[str, Any]] = []
    send = type(wrapper)._send

    def noted(self, wanted, **options):
        sent.append(wanted._asdict())
        return send(self, wanted, **options)

    monkeypatch.setattr(type(wrapper), "_send", noted)
    return sent


def _state(wrapper, text=_STATE):
    with wrapper.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchone()


def test_a_statement_runs_as_the_webs_role_for_the_tenant_in_scope(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        assert _state(wrapper) == (WEB_ROLE, ALPHA, "")
        with tenant_scope.across(Purpose.SIGN_IN):
            assert _state(wrapper) == (f"{WEB_ROLE}_across", "", "sign_in")
        assert _state(wrapper) == (WEB_ROLE, ALPHA, "")

    assert _state(wrapper)[1:] == ("", "")
    assert _state(wrapper)[0] != WEB_ROLE


def test_the_next_request_on_the_same_session_has_its_own_tenant(wrapper):
    for tenant in (ALPHA, BETA):
        with tenant_scope.of_request():
            tenant_scope.enter(tenant)
            assert _state(wrapper)[1] == tenant


def test_requests_of_one_tenant_after_each_other_bind_once(wrapper, bound):
    for _ in range(3):
        with tenant_scope.of_request():
            tenant_scope.enter(ALPHA)
            _state(wrapper)
            with transaction.atomic(using=ALIAS):
                _state(wrapper)

    assert len(bound) == 1


def test_a_statement_without_a_tenant_that_names_a_table_of_tenants_is_refused(wrapper):
    with tenant_scope.of_request():
        with pytest.raises(NoTenantScope, match="The table tasks belongs to tenants"):
            _state(wrapper, 'SELECT count(*) FROM "tasks"')
        assert _state(wrapper, "SELECT count(*) FROM django_session") == (0,)


def test_a_statement_that_is_composed_is_examined_too(wrapper):
    from psycopg import sql

    with tenant_scope.of_request(), pytest.raises(NoTenantScope):
        _state(wrapper, sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("pools")))


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_binding_of_a_transaction_ends_with_it(wrapper, ends):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        try:
            with transaction.atomic(using=ALIAS), tenant_scope.scoped(BETA):
                assert _state(wrapper)[1] == BETA
                if ends == "rollback":
                    raise LookupError
        except LookupError:
            pass
        assert _state(wrapper)[1] == ALPHA


def test_a_binding_of_a_savepoint_is_made_again_after_its_rollback(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        with transaction.atomic(using=ALIAS), tenant_scope.scoped(BETA):
            try:
                with transaction.atomic(using=ALIAS):
                    assert _state(wrapper)[1] == BETA
                    raise LookupError
            except LookupError:
                pass
            assert _state(wrapper)[1] == BETA
        assert _state(wrapper)[1] == ALPHA


def test_a_statement_that_fails_leaves_a_binding_that_is_made_again(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        with pytest.raises(DatabaseError):
            _server_bound(wrapper, "SELECT 1 / 0")
        assert _state(wrapper)[1] == ALPHA
        tenant_scope.enter(BETA)
        assert _state(wrapper)[1] == BETA


def test_a_named_statement_and_its_binding_share_a_round_trip(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        assert _server_bound(wrapper, _STATE) == (WEB_ROLE, ALPHA, "")
        assert _state(wrapper)[1] == ALPHA


def test_statements_of_a_failed_transaction_are_refused_by_django_and_not_by_a_binding(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        with (
            pytest.raises(DatabaseError, match="division by zero"),
            transaction.atomic(using=ALIAS),
            transaction.atomic(using=ALIAS),
        ):
            _state(wrapper, "SELECT 1 / 0")
        assert _state(wrapper)[1] == ALPHA


def test_a_session_that_was_closed_is_bound_anew(wrapper):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        _state(wrapper)
        wrapper.close()
        assert _state(wrapper)[1] == ALPHA


def test_a_transaction_binds_before_it_begins_so_that_the_binding_stays(wrapper, bound):
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        for _ in range(2):
            with transaction.atomic(using=ALIAS):
                assert _state(wrapper)[1] == ALPHA

    assert len(bound) == 1


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_transaction_that_is_bound_late_leaves_the_session_as_it_was(wrapper, bound, ends):
    with tenant_scope.of_request():
        with tenant_scope.across(Purpose.SIGN_IN):
            _state(wrapper)
        tenant_scope.enter(ALPHA)
        with suppress(LookupError), wrapper.binding_late(), transaction.atomic(using=ALIAS):
            assert _state(wrapper) == (WEB_ROLE, ALPHA, "")
            assert _state(wrapper) == (WEB_ROLE, ALPHA, "")
            if ends == "rollback":
                raise LookupError
        with tenant_scope.across(Purpose.SIGN_IN):
            assert _state(wrapper) == (f"{WEB_ROLE}_across", "", "sign_in")
        assert _state(wrapper) == (WEB_ROLE, ALPHA, "")

    assert [one["tenant"] for one in bound] == ["", ALPHA, ALPHA]


def _server_bound(wrapper, text):
    wrapper.ensure_connection()
    made = ServerBindingCursor(wrapper.connection)  # type: ignore[call-arg]  # the stubs know no arguments
    with wrapper._prepare_cursor(made) as cursor:
        cursor.execute(text)
        return cursor.fetchone()
