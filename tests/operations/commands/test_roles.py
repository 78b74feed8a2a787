from __future__ import annotations

import pytest
from django.db import connection

from events.models import AuditEntry
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.loops import LOOPS_ROLE, loops_url
from tests.support.walls import WEB_ROLE, web_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def walled(settings):
    settings.WEB_DATABASE_URL = web_url()
    settings.LOOPS_DATABASE_URL = loops_url()


def test_show_names_the_role_and_its_tables(walled):
    done = call("roles", "show", "--json")
    found = read_document("roles-show", done.out)

    assert (done.code, found["role"], found["problems"]) == (0, WEB_ROLE, [])
    assert found["loops"] == {"role": LOOPS_ROLE, "problems": []}
    out = call("roles", "show").out
    assert WEB_ROLE in out
    assert LOOPS_ROLE in out


def test_show_leaves_with_1_where_something_is_wrong(walled):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tasks DISABLE ROW LEVEL SECURITY")

    done = call("roles", "show")

    assert done.code == 1
    assert "without row security: tasks" in done.out


def test_show_leaves_with_1_where_the_web_uses_the_owners_role(settings):
    settings.WEB_DATABASE_URL = ""

    done = call("roles", "show", "--json")

    assert (done.code, read_document("roles-show", done.out)["role"]) == (1, None)


def test_show_leaves_with_1_where_the_loops_use_the_owners_role(walled, settings):
    settings.LOOPS_DATABASE_URL = ""

    done = call("roles", "show", "--json")

    assert (done.code, read_document("roles-show", done.out)["loops"]["role"]) == (1, None)
    assert "use the owner's role" in call("roles", "show").out


def test_show_leaves_with_1_where_the_loops_have_a_right_too_many(walled):
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT UPDATE ON audit_entries TO {LOOPS_ROLE}")

    done = call("roles", "show")

    assert done.code == 1
    assert "more rights than the loops need: UPDATE on audit_entries" in done.out


def test_make_makes_each_role_that_has_an_address(walled, settings):
    settings.WEB_DATABASE_URL = ""
    settings.LOOPS_DATABASE_URL = loops_url().replace(LOOPS_ROLE, "other")

    found = read_document("roles-make", call("roles", "make", "--json").out)

    assert (found["role"], found["loops_role"], found["policies"]) == (None, "other", 0)
    assert "other" in found["made"]
    assert AuditEntry.objects.latest("at").object_id == "other"


def test_make_repairs_and_then_changes_nothing(walled):
    with connection.cursor() as cursor:
        cursor.execute("DROP POLICY tenant_rows ON tasks")

    found = read_document("roles-make", call("roles", "make", "--json").out)

    assert (found["made"], found["policies"], found["grants"]) == ([], 1, 0)
    assert "Nothing to change." in call("roles", "make").out


def test_make_needs_the_address_of_the_web(settings):
    settings.WEB_DATABASE_URL = settings.LOOPS_DATABASE_URL = ""

    done = call("roles", "make")

    assert (done.code, "WEB_DATABASE_URL" in done.err) == (2, True)


def test_make_shows_no_password(walled):
    done = call("roles", "make", "--json")

    assert "test-web" not in done.out + done.err
    assert "test-loops" not in done.out + done.err
