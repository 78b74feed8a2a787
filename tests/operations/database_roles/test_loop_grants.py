"""What the role of the loops may do: what its statements need, and nothing that an owner may."""

from __future__ import annotations

import re

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.utils import DatabaseError
from psycopg.errors import InsufficientPrivilege

from operations.database_roles.granting import read_tables
from operations.database_roles.grants import FUNCTIONS_ACROSS
from operations.database_roles.loop_grants import (
    CLOSED,
    COLUMNS,
    FUNCTIONS,
    GRANTS,
    loop_rights_on,
)
from shared.sql import composed, rows
from tests.architecture import tree
from tests.support.loops import LOOPS_ROLE, as_loops, loops_url

pytestmark = pytest.mark.django_db

#: Statements that no loop runs, and who does.
OF_OTHERS = {
    "api_keys/find": "the web process finds keys",
    "backup/destroy_data_keys": "a restore",
    "backup/facts": "a backup",
    "backup/forget_sessions": "a restore",
    "backup/void_login_links": "a restore",
    "fence/skip_tokens": "a restore",
    "idempotency/store": "the web process answers calls",
    "metric_reads/ending_keys": "the web process is asked for metrics",
    "metric_reads/oldest_snapshot": "the web process is asked for metrics",
    "prune/attach_day_table": "an operator restores a day",
    "prune/new_day_table": "an operator restores a day",
    "pull/share_pool": "the web process gives work to pull workers",
}
#: Statements that PostgreSQL cannot type without their values.
UNTYPED = {
    "dispatch/claim_due",
    "dispatch/claim_due_within",
    "erasure/blank_job_names",
    "pull/claim",
}
_PARAMETER = re.compile(r"%\((\w+)\)s")
#: The place of a name that a statement gets when it runs; a constant such as '{}' is none.
_PLACE = re.compile(r"(?<!')\{[a-z_]+\}(?!')")


def test_every_table_is_in_the_list_or_closed_to_the_loops():
    tables = {table.name for table in read_tables()}

    assert tables - set(GRANTS) - CLOSED == set()
    assert (set(GRANTS) | CLOSED) - tables == set()
    assert set(GRANTS) & CLOSED == set()


def test_the_loops_have_the_rights_of_the_list_and_no_others():
    given: dict[str, set[str]] = {}
    for relation, kind, right in rows("roles/given", {"role": LOOPS_ROLE}):
        if kind != "S":
            given.setdefault(relation, set()).add(right)

    assert given == {name: set(loop_rights_on(name)) for name in GRANTS if GRANTS[name]}
    assert set(rows("roles/given_columns", {"role": LOOPS_ROLE})) == set(COLUMNS)


def test_the_loops_read_of_accounts_everything_but_the_hash_of_the_password():
    columns = {field.column for field in get_user_model()._meta.local_concrete_fields}

    assert columns - {column for table, column, _ in COLUMNS if table == "auth_user"} == {
        "password"
    }


def test_the_loops_may_only_append_to_the_audit():
    assert loop_rights_on("audit_entries") == {"SELECT", "INSERT"}


def test_every_function_with_its_owners_rights_is_named():
    named = {function for function, _ in rows("roles/callers")}
    whose = {function for function in named if function.startswith("tenant_of_")}
    whose |= {f"{name}()" for name in FUNCTIONS_ACROSS}

    assert named - whose == set(FUNCTIONS)
    assert {who for function, who in rows("roles/callers") if function in FUNCTIONS} == {LOOPS_ROLE}


def _statements():
    for path in tree.sql_paths():
        for name, text in composed(path.read_text(encoding="utf-8")).items():
            yield f"{path.stem}/{name}", text


def _numbered(text):
    names = list(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return numbered.replace("%%", "%")


def _verdict(text):
    """Return what PostgreSQL says to a statement of the loops; it checks rights as it explains."""
    try:
        with as_loops(), transaction.atomic(), connection.cursor() as cursor:
            # Without parameters Django sends the text as it is.
            cursor.execute(f"EXPLAIN (GENERIC_PLAN) {text}")
    except DatabaseError as error:
        refused = isinstance(error.__cause__, InsufficientPrivilege)
        return "denied" if refused else "unclear"
    return "allowed"


def test_each_statement_of_the_loops_has_the_rights_that_it_needs():
    found = {
        name: _verdict(_numbered(text))
        for name, text in _statements()
        if re.match(r"(?:--[^\n]*\n|\s)*(WITH|SELECT|INSERT|UPDATE|DELETE)\b", text)
        and not _PLACE.search(text)
    }
    by_verdict = {
        verdict: {name for name in found if found[name] == verdict}
        for verdict in ("allowed", "denied", "unclear")
    }

    assert by_verdict["denied"] == set(OF_OTHERS)
    # Without its values a statement may have no types; the tests of its stage run it.
    assert by_verdict["unclear"] <= UNTYPED
    assert len(by_verdict["allowed"]) > 200


def test_the_check_of_statements_finds_one_that_lacks_a_right():
    assert _verdict("SELECT key_hash FROM api_keys") == "denied"
    assert _verdict("DELETE FROM audit_entries WHERE id = $1") == "denied"
    assert _verdict("SELECT id FROM tasks WHERE id = $1") == "allowed"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entries SET actor = 'nobody'",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        "TRUNCATE events",
        "ALTER TABLE audit_entries DISABLE TRIGGER ALL",
        "DROP TRIGGER audit_entries_are_not_removed ON audit_entries",
        "CREATE TRIGGER planted BEFORE INSERT ON tasks FOR EACH ROW"
        " EXECUTE FUNCTION refuse_change_of_audit_entries()",
        "SET session_replication_role = replica",
        "DROP TABLE events",
        "ALTER TABLE ended_executions RENAME TO gone",
        "ALTER TABLE tasks DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE planted (id int)",
        "CREATE FUNCTION planted() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION make_day(kind text, day date) RETURNS boolean"
        " LANGUAGE sql AS 'SELECT true'",
        "CREATE SCHEMA planted",
        "CREATE ROLE planted",
        "ALTER ROLE test_loops SUPERUSER",
        "SET ROLE punctual",
        "SET ROLE test_web",
        "SET SESSION AUTHORIZATION punctual",
        "SELECT rolpassword FROM pg_authid",
        "SELECT key_hash FROM api_keys",
        "SELECT sealed_secret FROM second_factors",
        "SELECT session_data FROM django_session",
        "SELECT password FROM auth_user",
        "INSERT INTO auth_user (username) VALUES ('planted')",
        "UPDATE auth_user SET is_superuser = true",
        "UPDATE invitations SET role = 'owner'",
        "UPDATE named_secrets SET hosts = '{}'",
        "UPDATE memberships SET role = 'owner'",
        "INSERT INTO memberships DEFAULT VALUES",
        "SELECT pg_read_file('PG_VERSION')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "COPY (SELECT 1) TO '/tmp/planted'",
        "COPY events FROM '/etc/passwd'",
        "ALTER SYSTEM SET log_statement = 'all'",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'punctual'",
        "SELECT tenant_of_tasks('00000000-0000-0000-0000-000000000000')",
        "SELECT put_day_aside('events', '2020-01-01')",
    ],
)
def test_the_loops_cannot(statement):
    # A session of its own, which logs in as the role: it has no owner to go back to.
    refused = pytest.raises(psycopg.Error, match=r"permission denied|must be owner|[Oo]nly roles")
    with psycopg.connect(loops_url(), autocommit=True) as session, refused as found:
        session.execute(statement)

    assert isinstance(found.value, InsufficientPrivilege)
