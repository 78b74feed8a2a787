from __future__ import annotations

import dataclasses

import pytest

from shared.conf import conf
from tests.factories import make_task, make_tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_keys(settings):
    """Let what is stored have the key of the tests, and make another one active."""
    make_task(make_tenant())
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)


def test_list_counts_the_values_of_each_key(two_keys):
    done = call("keys", "list", "--json")
    found = read_document("keys-list", done.out)["keys"]

    assert [(key["id"], key["active"], key["configured"]) for key in found] == [
        ("new", True, True),
        ("test", False, True),
    ]
    assert (found[0]["values"], found[1]["values"] > 0) == (0, True)
    assert "active" in call("keys", "list").out


def test_a_key_that_is_missing_is_listed(settings, two_keys):
    keys = {"new": b"n" * 32}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)

    assert "missing" in call("keys", "list").out
    done = call("keys", "reseal", "--yes", "--json")
    assert done.code == 6
    found = read_document("keys-reseal", done.out)
    assert found["left"] == sum(one["unreadable"] for one in found["columns"]) > 0


def test_reseal_seals_everything_under_the_active_key(two_keys):
    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["key"], found["left"]) == (0, "new", 0)
    assert found["sealed"] > 0
    listed = read_document("keys-list", call("keys", "list", "--json").out)["keys"]
    assert [key["values"] > 0 for key in listed] == [True, False]


def test_reseal_asks_first():
    assert call("keys", "reseal").code == 2
