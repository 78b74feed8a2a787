from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.db.utils import ProgrammingError

from operations.database_roles.granting import read_tables
from operations.database_roles.grants import GRANTS, rights_on
from shared.sql import rows
from tests.support.walls import WEB_ROLE

pytestmark = pytest.mark.django_db


def test_every_table_states_what_the_web_may_do_with_it():
    tables = {table.name for table in read_tables()}

    assert {name for name in tables if name not in GRANTS} == set()
    assert set(GRANTS) - tables == set()


def test_the_web_has_the_rights_of_the_list_and_no_others():
    given: dict[str, set[str]] = {}
    for relation, kind, right in rows("roles/given", {"role": WEB_ROLE}):
        if kind != "S":
            given.setdefault(relation, set()).add(right)

    assert given == {name: set(rights_on(name)) for name in GRANTS if GRANTS[name]}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entries SET actor = 'nobody'",
        "DELETE FROM audit_entries",
        "UPDATE metric_totals SET counts = '{}'",
        "DELETE FROM metric_totals",
        "TRUNCATE audit_entries",
        "ALTER TABLE audit_entries DISABLE TRIGGER ALL",
        "CREATE TABLE planted (id int)",
        "ALTER TABLE tasks DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_rows ON tasks",
        "UPDATE partition_leases SET owner = NULL",
        "SET ROLE punctual",
    ],
)
def test_the_web_cannot(as_web, statement):
    with as_web(), connection.cursor() as cursor:
        # In the test the login is the owner's: only a role of its own may not go back to it.
        if statement.startswith("SET ROLE"):
            cursor.execute("SELECT pg_has_role(%s, 'punctual', 'MEMBER')", [WEB_ROLE])
            assert cursor.fetchone() == (False,)
            return
        refused = pytest.raises(ProgrammingError, match=r"permission denied|must be owner")
        with refused, transaction.atomic():
            cursor.execute(statement)


def test_the_table_of_a_single_day_is_closed_to_the_web(as_web):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relname ~ '^ended_executions_2|^executions_2'"
            " AND c.relkind = 'r' LIMIT 1"
        )
        (day,) = cursor.fetchone()
        cursor.execute("SELECT has_table_privilege(%s, %s, 'SELECT')", [WEB_ROLE, day])
        assert cursor.fetchone() == (False,)
