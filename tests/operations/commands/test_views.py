"""``manage.py views``."""

from __future__ import annotations

from typing import Any

import pytest

from shared.ids import new_id
from tenants.models import SavedView
from tests.notifications.cast import make_member
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def read(verb: str, *words: str) -> dict[str, Any]:
    said = call("views", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"views-{verb}", said.out)


def test_a_view_is_saved_shown_changed_and_removed(alpha):
    made = read("create", "executions", "Failed", "status=FAILED&cursor=x", "--default")

    assert (made["query"], made["default"], made["shared"]) == ("status=FAILED", True, True)
    assert read("show", made["id"]) == made
    changed = read("update", made["id"], "--name", "Other", "--query", "", "--not-default")
    assert (changed["name"], changed["query"], changed["default"]) == ("Other", "", False)
    assert call("views", "update", made["id"], "--name", "x", "--version-seen", "1").code == 4
    assert "Other" in call("views", "list").out
    assert call("views", "remove", made["id"], "--yes").code == 0
    assert not SavedView.objects.exists()


def test_personal_views_are_those_of_the_named_member(alpha):
    make_member(alpha, "ada")
    made = read("create", "tasks", "Mine", "owner=ada", "--member", "ada")

    assert not made["shared"]
    assert read("list")["views"] == []
    [listed] = read("list", "--member", "ada", "--list", "tasks")["views"]
    assert {"schema": 1, **listed} == made
    assert call("views", "show", made["id"]).code == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "workers", "x", ""), 1),
        (("create", "tasks", "x", "oops=1"), 2),
        (("create", "tasks", "", ""), 2),
        (("create", "tasks", "x", "", "--member", "unknown"), 3),
        (("show", str(new_id())), 3),
        (("remove", str(new_id()), "--yes"), 3),
    ],
)
def test_bad_words_are_refused(alpha, words, code):
    assert call("views", *words).code == code
