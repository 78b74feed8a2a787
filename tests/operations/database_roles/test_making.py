from __future__ import annotations

import psycopg
import pytest
from django.db import connection

from operations.database_roles.granting import RoleNotMade
from operations.database_roles.making import make_roles
from operations.database_roles.state import read_state
from shared.sql import rows
from shared.tenant_scope import across_of
from tests.support.walls import WEB_ROLE, web_url

pytestmark = pytest.mark.django_db


def _run(text):
    with connection.cursor() as cursor:
        cursor.execute(text)


def test_what_is_right_is_left_alone():
    assert make_roles(web_url()) == type(make_roles(web_url()))()


def test_the_role_can_log_in_and_is_held_back():
    with psycopg.connect(web_url()) as session:
        found = session.execute(
            "SELECT current_user, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolinherit"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        seen = session.execute("SELECT count(*) FROM tenants").fetchone()

    assert found == (WEB_ROLE, False, False, False, False, False)
    assert seen == (0,)


def test_a_policy_that_was_taken_away_or_changed_is_made_again():
    _run("DROP POLICY tenant_rows ON tasks")
    _run("ALTER TABLE pools DISABLE ROW LEVEL SECURITY")
    _run("COMMENT ON POLICY tenant_rows ON alerts IS 'another'")
    _run("CREATE POLICY planted ON pauses USING (true)")
    assert len(read_state(web_url()).problems) == 2

    made = make_roles(web_url())

    assert set(made.policies) == {"tasks.tenant_rows", "alerts.tenant_rows", "pauses.planted"}
    assert read_state(web_url()).problems == ()


def test_a_right_that_the_web_does_not_need_is_taken_away():
    _run(f"GRANT DELETE ON audit_entries TO {WEB_ROLE}")
    assert "DELETE on audit_entries" in read_state(web_url()).problems[0]

    made = make_roles(web_url())

    assert made.grants == [f"revoke DELETE on audit_entries {WEB_ROLE}"]


def test_the_operators_of_labels_are_marked_so_that_their_index_serves_the_web():
    assert rows("roles/leaks") == []
    _run("ALTER FUNCTION pg_catalog.jsonb_exists(jsonb, text) NOT LEAKPROOF")
    assert [name for name, _ in rows("roles/leaks")] == ["jsonb_exists(jsonb,text)"]

    make_roles(web_url())

    assert rows("roles/leaks") == []


def test_a_new_table_of_tenants_gets_its_policy():
    _run("CREATE TABLE planted (id uuid, tenant_id uuid NOT NULL)")
    assert "without row security: planted" in read_state(web_url()).problems[0]

    assert make_roles(web_url()).policies == ["planted.tenant_rows", "planted.written_for_purpose"]


@pytest.mark.parametrize("right", ["SUPERUSER", "BYPASSRLS"])
def test_a_role_that_goes_around_row_security_is_refused(right):
    _run(f"CREATE ROLE strong LOGIN {right}")
    url = web_url().replace(WEB_ROLE, "strong")

    with pytest.raises(RoleNotMade, match="row security does not apply"):
        make_roles(url)


def test_the_owners_own_role_is_refused():
    with pytest.raises(RoleNotMade, match="a role of its own"):
        make_roles(web_url().replace(WEB_ROLE, connection.settings_dict["USER"]))


def test_an_owner_that_may_make_no_roles_says_so():
    _run("CREATE ROLE weak LOGIN")
    _run("GRANT CREATE, USAGE ON SCHEMA public TO weak")
    _run("SET LOCAL ROLE weak")
    try:
        with pytest.raises(RoleNotMade, match="may not make the role other"):
            make_roles(web_url().replace(WEB_ROLE, "other"))
    finally:
        _run("SET LOCAL ROLE none")


def test_only_the_role_of_crossing_tenants_may_ask_for_the_oldest_snapshot():
    function = {"function": "public.oldest_snapshot_seconds()"}

    [(web,)] = rows("roles/may_call", {"role": WEB_ROLE, **function})
    [(across,)] = rows("roles/may_call", {"role": across_of(WEB_ROLE), **function})

    assert (web, across) == (False, True)


def test_a_right_to_ask_for_the_oldest_snapshot_that_was_taken_away_is_given_again():
    _run(f"REVOKE EXECUTE ON FUNCTION oldest_snapshot_seconds() FROM {across_of(WEB_ROLE)}")

    assert make_roles(web_url()).grants == [
        f"grant EXECUTE on oldest_snapshot_seconds {across_of(WEB_ROLE)}"
    ]


def test_a_schema_without_the_function_is_no_fault():
    _run("DROP FUNCTION oldest_snapshot_seconds()")

    assert make_roles(web_url()).grants == []
