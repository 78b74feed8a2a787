from __future__ import annotations

import pytest
from django.db import connection

from operations.database_roles.state import read_state
from tests.support.walls import WEB_ROLE, web_url

pytestmark = pytest.mark.django_db


def test_a_database_that_keeps_tenants_apart_has_no_problem():
    found = read_state(web_url())

    assert (found.role, found.problems) == (WEB_ROLE, ())
    assert found.secured > 30


def test_without_an_address_of_the_web_there_is_no_second_wall():
    assert read_state("") == type(read_state(""))("", 0, ())


def test_a_missing_role_is_named():
    found = read_state(web_url().replace(WEB_ROLE, "other"))

    assert "there is no role other" in found.problems
    assert "there is no role other_across" in found.problems


def test_views_and_functions_with_their_owners_rights_are_named():
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIEW planted AS SELECT * FROM tasks")
        cursor.execute(
            "CREATE FUNCTION planted() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"
        )

    assert len([one for one in read_state(web_url()).problems if "planted" in one]) == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (f"GRANT DELETE ON audit_entries TO {WEB_ROLE}_across", "more rights than the web needs"),
        ("GRANT UPDATE ON audit_entries TO PUBLIC", "revoked from PUBLIC: UPDATE on audit_entries"),
        (f"REVOKE SELECT ON tasks FROM {WEB_ROLE}", "fewer rights than the web needs: SELECT on"),
        (f"REVOKE SELECT ON tenants FROM {WEB_ROLE}_across", "fewer rights than the web needs"),
    ],
)
def test_rights_that_differ_from_the_list_are_named(change, problem):
    with connection.cursor() as cursor:
        cursor.execute(change)

    [found] = read_state(web_url()).problems
    assert problem in found


def test_views_of_extensions_are_no_problem():
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIEW planted AS SELECT 1 AS one")
        # As a view that CREATE EXTENSION has made.
        cursor.execute("ALTER EXTENSION plpgsql ADD VIEW planted")

    assert read_state(web_url()).problems == ()
