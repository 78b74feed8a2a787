from __future__ import annotations

import psycopg
import pytest
from django.db import connection

from operations.database_roles.granting import RoleNotMade
from operations.database_roles.loop_grants import FUNCTIONS
from operations.database_roles.loops import close_functions, make_loops_role, read_loops_state
from operations.database_roles.state import read_state
from shared.sql import rows, statement
from tests.support.loops import LOOPS_ROLE, loops_url
from tests.support.walls import WEB_ROLE, web_url

pytestmark = pytest.mark.django_db


def _run(text):
    with connection.cursor() as cursor:
        cursor.execute(text)


def test_what_is_right_is_left_alone():
    made = make_loops_role(loops_url(), web_url())

    assert (made.roles, made.grants) == ([], [])
    assert read_loops_state(loops_url()).problems == ()


def test_a_new_role_crosses_tenants_and_can_do_nothing_else():
    make_loops_role(loops_url().replace(LOOPS_ROLE, "other"), web_url())

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit,"
            " rolcanlogin FROM pg_roles WHERE rolname = 'other'"
        )
        assert cursor.fetchone() == (False, True, False, False, False, False, True)
    assert rows("roles/powers", {"role": "other"}) == []
    # One role at a time may call the functions.
    assert {who for one, who in rows("roles/callers") if one in FUNCTIONS} == {"other"}


def test_the_role_logs_in_with_the_password_of_the_address():
    with psycopg.connect(loops_url()) as session:
        assert session.execute("SELECT current_user").fetchone() == (LOOPS_ROLE,)


def test_rights_that_differ_from_the_list_are_mended():
    _run(f"GRANT DELETE ON audit_entries TO {LOOPS_ROLE}")
    _run(f"REVOKE SELECT ON tasks FROM {LOOPS_ROLE}")

    assert make_loops_role(loops_url(), web_url()).grants == [
        f"revoke DELETE on audit_entries {LOOPS_ROLE}",
        f"grant SELECT on tasks {LOOPS_ROLE}",
    ]


def test_on_the_way_back_what_is_not_there_yet_is_left_out():
    # As between two migrations, where `migrate` makes the role, too.
    _run("DROP FUNCTION let_day_go(text, date)")
    _run("ALTER TABLE signing_secrets RENAME COLUMN sealed TO sealed_before")
    _run(f"REVOKE EXECUTE ON FUNCTION make_day(text, date) FROM {LOOPS_ROLE}")

    made = make_loops_role(loops_url(), web_url()).grants

    assert f"grant EXECUTE on make_day(text, date) {LOOPS_ROLE}" in made
    callers = {one for one, who in rows("roles/callers") if who == LOOPS_ROLE}
    assert callers == set(FUNCTIONS) - {"let_day_go(text, date)"}


def test_functions_that_a_restored_backup_has_opened_are_closed():
    _run("GRANT EXECUTE ON FUNCTION make_day(text, date) TO PUBLIC")
    _run(f"GRANT EXECUTE ON FUNCTION let_day_go(text, date) TO {WEB_ROLE}")

    assert "make_day(text, date)" in read_state(web_url()).problems[0]
    assert "by every role" in read_loops_state(loops_url()).problems[0]
    assert make_loops_role(loops_url(), web_url()).grants == [
        f"revoke EXECUTE on let_day_go(text, date) {WEB_ROLE}",
        "revoke EXECUTE on make_day(text, date) PUBLIC",
    ]


def test_without_a_role_functions_are_closed_to_every_role_and_stay_open_to_one_of_elsewhere():
    _run("GRANT EXECUTE ON FUNCTION make_day(text, date) TO PUBLIC")

    assert close_functions() == ["revoke EXECUTE on make_day(text, date) PUBLIC"]
    assert {who for one, who in rows("roles/callers") if one in FUNCTIONS} == {LOOPS_ROLE}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER ROLE strong SUPERUSER", "is a superuser"),
        ("ALTER ROLE strong CREATEROLE", "may make roles"),
        ("ALTER ROLE strong CREATEDB", "may make databases"),
        ("ALTER ROLE strong REPLICATION", "may replicate"),
        ("GRANT pg_execute_server_program TO strong", "is a member of another role"),
        ("GRANT CREATE ON SCHEMA public TO strong", "may make tables and functions"),
        ("GRANT SET ON PARAMETER session_replication_role TO strong", "may switch triggers off"),
    ],
)
def test_a_role_with_a_power_that_no_process_needs_is_refused(change, why):
    _run("CREATE ROLE strong LOGIN BYPASSRLS")
    _run(change)
    url = loops_url().replace(LOOPS_ROLE, "strong")

    with pytest.raises(RoleNotMade, match=why):
        make_loops_role(url, web_url())
    assert any(why in problem for problem in read_loops_state(url).problems)


def test_a_role_that_owns_a_table_is_refused():
    _run("CREATE ROLE strong LOGIN BYPASSRLS")
    _run("CREATE TABLE planted (id int)")
    _run("ALTER TABLE planted OWNER TO strong")

    with pytest.raises(RoleNotMade, match="owns tables"):
        make_loops_role(loops_url().replace(LOOPS_ROLE, "strong"), web_url())


def test_a_role_that_cannot_cross_tenants_is_let():
    _run("CREATE ROLE other LOGIN")
    url = loops_url().replace(LOOPS_ROLE, "other")
    assert "lacks BYPASSRLS" in read_loops_state(url).problems[0]

    assert "other" in make_loops_role(url, web_url()).roles
    assert rows("roles/crosses", {"role": "other"}) == [(True, True)]


@pytest.mark.parametrize("role", [WEB_ROLE, f"{WEB_ROLE}_across", "punctual"])
def test_the_roles_of_the_web_and_of_the_owner_are_refused(role):
    with pytest.raises(RoleNotMade, match="a role of its own"):
        make_loops_role(loops_url().replace(LOOPS_ROLE, role), web_url())


def test_a_web_role_that_may_become_the_loops_is_not_held_back():
    _run(f"GRANT {LOOPS_ROLE} TO {WEB_ROLE} WITH INHERIT FALSE, SET TRUE")

    assert f"row security does not hold the role {WEB_ROLE} back" in read_state(web_url()).problems


def test_an_owner_that_may_make_no_roles_says_so():
    _run("CREATE ROLE weak LOGIN")
    _run("GRANT CREATE, USAGE ON SCHEMA public TO weak")
    _run("SET LOCAL ROLE weak")
    try:
        with pytest.raises(RoleNotMade, match="may not make the role other"):
            make_loops_role(loops_url().replace(LOOPS_ROLE, "other"), web_url())
    finally:
        _run("SET LOCAL ROLE none")


def test_a_missing_role_and_missing_rights_are_named():
    assert read_loops_state(loops_url().replace(LOOPS_ROLE, "other")).problems == (
        "there is no role other",
    )
    _run(f"REVOKE SELECT ON tasks FROM {LOOPS_ROLE}")
    _run(f"REVOKE EXECUTE ON FUNCTION make_day(text, date) FROM {LOOPS_ROLE}")

    rights, callers = read_loops_state(loops_url()).problems
    assert rights == "fewer rights than the loops need: SELECT on tasks"
    assert "fewer callers" in callers


def test_a_restore_sees_our_sessions_of_every_role_and_waits_for_no_others():
    with (
        psycopg.connect(web_url(), application_name="monitoring"),
        psycopg.connect(web_url(), application_name="punctual-web"),
        psycopg.connect(loops_url()) as asking,
    ):
        found = {name for (name,) in asking.execute(statement("backup/others"))}

    assert "punctual-web" in found
    assert "monitoring" not in found


def test_without_an_address_the_loops_use_the_owners_role():
    assert (read_loops_state("").role, read_loops_state("").problems) == ("", ())
