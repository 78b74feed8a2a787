"""``manage.py feeds``."""

from __future__ import annotations

from typing import Any

import pytest

from shared.ids import new_id
from tenants.models import CalendarFeed
from tests.notifications.cast import make_member
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def read(verb: str, *words: str) -> dict[str, Any]:
    said = call("feeds", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"feeds-{verb}", said.out)


def test_a_feed_is_made_listed_and_revoked(alpha):
    make_member(alpha, "ada")
    make_member(alpha, "bob")

    made = read("create", "Nightly", "--member", "ada", "--filter", "label:team")

    assert made["filter"] == "label:team"
    assert made["url"].endswith(".ics")
    [listed] = read("list")["calendar_feeds"]
    assert {**made, "url": None} == {"schema": 1, **listed, "url": None}
    assert read("list", "--member", "bob")["calendar_feeds"] == []
    text = call("feeds", "list").out
    assert "ada" in text
    assert "never" in text
    assert "/calendar-feeds/" not in text
    assert read("revoke", made["id"], "--yes")["name"] == "Nightly"
    assert not CalendarFeed.objects.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "", "--member", "ada"), 2),
        (("create", "x", "--member", "ada", "--filter", "oops:x"), 2),
        (("create", "x", "--member", "ada", "--timezone", "Nowhere"), 2),
        (("create", "x", "--member", "unknown"), 3),
        (("create", "x"), 1),
        (("revoke", str(new_id()), "--yes"), 3),
    ],
)
def test_bad_words_are_refused(alpha, words, code):
    make_member(alpha, "ada")

    assert call("feeds", *words).code == code
    assert not CalendarFeed.objects.exists()
