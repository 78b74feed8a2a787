from __future__ import annotations

import pytest
from django.db import connection

from operations.database_roles.granting import (
    make_grants,
    named,
    read_tables,
    set_password_of,
    wrong_grants,
)
from shared.sql import rows
from tests.support.loops import LOOPS_PASSWORD, LOOPS_ROLE, loops_url


@pytest.fixture
def role(db):
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE other")
    return "other"


def test_a_role_gets_the_wanted_rights_and_loses_all_others(role):
    with connection.cursor() as cursor:
        cursor.execute("GRANT SELECT, DELETE ON tasks TO other")
    wanted = {"tasks": frozenset({"SELECT", "INSERT"}), "pools": frozenset()}

    changed = make_grants(wanted, role)

    assert "grant INSERT on tasks other" in changed
    assert "revoke DELETE on tasks other" in changed
    given = {
        (name, right) for name, kind, right in rows("roles/given", {"role": role}) if kind != "S"
    }
    assert given == {("tasks", "SELECT"), ("tasks", "INSERT")}
    assert make_grants(wanted, role) == []
    assert list(wrong_grants(wanted, role, "a test needs")) == []


def test_rights_beyond_and_rights_that_lack_are_told_apart(role):
    wanted = {"tasks": frozenset({"SELECT"})}
    make_grants(wanted, role)
    with connection.cursor() as cursor:
        cursor.execute("GRANT DELETE ON tasks TO other")
        cursor.execute("REVOKE SELECT ON tasks FROM other")

    assert list(wrong_grants(wanted, role, "a test needs")) == [
        "more rights than a test needs: DELETE on tasks",
        "fewer rights than a test needs: SELECT on tasks",
    ]


def test_a_problem_names_its_first_places():
    assert list(named("wrong", [])) == []
    assert list(named("wrong", "fedcba")) == ["wrong: a, b, c, d, e, …"]


@pytest.mark.django_db
def test_tables_of_single_days_are_not_listed():
    names = {table.name for table in read_tables()}

    assert "ended_executions" in names
    assert [name for name in names if name[-8:].isdigit()] == []


@pytest.mark.django_db
def test_a_password_that_works_is_not_set_again():
    assert not set_password_of(LOOPS_ROLE, loops_url(), LOOPS_PASSWORD)
    assert not set_password_of(LOOPS_ROLE, loops_url(), "")
