"""The second wall: the database itself shows a tenant's rows to nobody else's requests."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from operations.database_roles.granting import read_tables
from operations.database_roles.policies import ADDED, MADE_WITH_PARENT, READ, is_walled
from shared.postgresql.tenant_tables import CHILDREN, tenant_tables
from shared.sql import rows
from shared.tenant_scope import Purpose
from tests.support import rows_of_every_table
from tests.support.walls import WEB_ROLE

pytestmark = pytest.mark.django_db

ALPHA, BETA = uuid4(), uuid4()


@pytest.fixture
def walled():
    """Return the tables of tenants with one row of Alpha in each."""
    rows_of_every_table.begin()
    tables = [table for table in read_tables() if is_walled(table)]
    for table in tables:
        if table.tenant_column and table.name != "executions":
            rows_of_every_table.put(table.name, table.tenant_column, ALPHA)
    for table in tables:
        if not table.tenant_column:
            column, parent = CHILDREN[table.name]
            rows_of_every_table.put(table.name, "", ALPHA, **{column: _one_id(parent)})
    return tables


def _one_id(table):
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT id FROM {}").format(sql.Identifier(table)))
        return cursor.fetchone()[0]


def _count(relation):
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(relation)))
        return cursor.fetchone()[0]


def _is_refused(statement):
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:
        return isinstance(error.__cause__, InsufficientPrivilege)
    return False


def test_a_tenants_rows_are_seen_with_that_tenant_and_with_no_other(walled, as_web):
    assert len(walled) > 30
    with as_web(ALPHA):
        own = {table.name: _count(table.name) for table in walled}
    with as_web(BETA):
        foreign = {table.name: _count(table.name) for table in walled}

    assert {name for name, count in own.items() if count == 0} == set()
    assert {name: count for name, count in foreign.items() if count} == {}


def test_without_a_tenant_there_are_no_rows(walled, as_web):
    with as_web():
        found = {table.name: _count(table.name) for table in walled}

    assert {name: count for name, count in found.items() if count} == {}


def test_a_row_of_another_tenant_can_be_neither_made_nor_changed_nor_removed(walled, as_web):
    made = {
        table.name: rows_of_every_table.insertion(table.name, table.tenant_column, ALPHA)
        for table in walled
        if table.tenant_column
    }
    with as_web(BETA):
        let_in = [name for name, statement in made.items() if not _is_refused(statement)]
        touched = [table.name for table in walled if _touches(table)]

    assert let_in == []
    assert touched == []


def test_a_row_of_another_tenants_parent_cannot_be_made(walled, as_web):
    children = [table for table in walled if not table.tenant_column]
    made = {
        table.name: rows_of_every_table.insertion(
            table.name, "", ALPHA, **{CHILDREN[table.name][0]: _one_id(CHILDREN[table.name][1])}
        )
        for table in children
    }
    with as_web(BETA):
        let_in = [name for name, statement in made.items() if not _is_refused(statement)]
    with as_web():
        let_in_without = [name for name, statement in made.items() if not _is_refused(statement)]

    assert len(made) == len(CHILDREN)
    assert (let_in, let_in_without) == ([], [])


@pytest.mark.parametrize("table", sorted(MADE_WITH_PARENT))
def test_a_row_may_be_made_before_its_parent_by_a_tenant_only(walled, as_web, table):
    statement = rows_of_every_table.insertion(table, "", ALPHA, **{CHILDREN[table][0]: uuid4()})
    with as_web():
        assert _is_refused(statement)
    with as_web(ALPHA):
        assert not _is_refused(statement)


def test_whose_a_parent_is_can_be_asked_by_the_webs_role_alone():
    may = "SELECT has_function_privilege(%s, 'tenant_of_tasks(uuid)', 'EXECUTE')"
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE anybody")
        found = {}
        for role in (WEB_ROLE, "anybody"):
            cursor.execute(may, [role])
            [found[role]] = cursor.fetchone()

    assert found == {WEB_ROLE: True, "anybody": False}


def _touches(table):
    column = table.tenant_column or CHILDREN[table.name][0]
    names = {"table": sql.Identifier(table.name), "column": sql.Identifier(column)}
    for text in ("UPDATE {table} SET {column} = {column}", "DELETE FROM {table}"):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(sql.SQL(text).format(**names))
                if cursor.rowcount:
                    return True
        except DatabaseError as error:
            if not isinstance(error.__cause__, InsufficientPrivilege):
                raise
    return False


def test_a_tenants_own_row_cannot_be_given_to_another_tenant(walled, as_web):
    text = sql.SQL("UPDATE tasks SET tenant_id = {}").format(sql.Literal(BETA))

    with as_web(ALPHA):
        assert _is_refused(text)


def test_every_table_with_a_tenant_is_secured_and_known_to_the_guard_of_scopes():
    tables = read_tables()

    assert [table.name for table in tables if is_walled(table) and not table.is_secured] == []
    assert {table.name for table in tables if is_walled(table)} == set(tenant_tables())


def test_every_view_reads_with_the_rights_of_its_reader(walled, as_web):
    assert rows("roles/views_without_invoker") == []

    with connection.cursor() as cursor:
        cursor.execute("CREATE VIEW planted AS SELECT * FROM tasks")
    assert rows("roles/views_without_invoker") == [("planted",)]

    with connection.cursor() as cursor:
        cursor.execute("ALTER VIEW planted SET (security_invoker = true)")
        cursor.execute("GRANT SELECT ON planted TO test_web")
    with as_web(BETA):
        assert _count("planted") == 0
    with as_web(ALPHA):
        assert _count("planted") == 1


def test_no_function_runs_with_its_owners_rights_unless_it_names_its_search_path():
    assert rows("roles/functions_with_rights") == []

    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION planted() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"
        )
    assert rows("roles/functions_with_rights") == [("planted",)]

    with connection.cursor() as cursor:
        cursor.execute("ALTER FUNCTION planted() SET search_path = pg_catalog, pg_temp")
    assert rows("roles/functions_with_rights") == []


@pytest.mark.parametrize("purpose", [one for one in Purpose if one != Purpose.ADMIN])
def test_a_purpose_reads_its_tables_of_all_tenants_and_changes_none(walled, as_web, purpose):
    with as_web(purpose=purpose):
        seen = {table.name for table in walled if _count(table.name)}
        changed = [table.name for table in walled if _touches(table)]

    assert seen == READ[purpose]
    assert changed == []


@pytest.mark.parametrize("purpose", [one for one in Purpose if one != Purpose.ADMIN])
def test_a_purpose_adds_rows_of_tenants_to_its_tables_only(walled, as_web, purpose):
    made = {
        table.name: rows_of_every_table.insertion(table.name, table.tenant_column, ALPHA)
        for table in walled
        if table.tenant_column
    }
    with as_web(purpose=purpose):
        let_in = {name for name, statement in made.items() if not _is_refused(statement)}

    assert let_in == ADDED.get(purpose, frozenset())


def test_the_admin_reads_and_changes_the_rows_of_all_tenants(walled, as_web):
    with as_web(purpose=Purpose.ADMIN):
        unseen = {table.name for table in walled if not _count(table.name)}
        assert _touches(next(table for table in walled if table.name == "tasks"))

    assert unseen == set()


def test_a_purpose_without_the_role_of_crossing_opens_nothing(walled, as_web):
    with as_web(BETA), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('punctual.purpose', 'admin', true)")
        found = {table.name for table in walled if _count(table.name)}

    assert found == set()
