from __future__ import annotations

import dataclasses

import pytest

from operations.resealing import sealing_anew
from shared.conf import conf
from tasks.models import TaskRevision
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


def test_values_that_no_key_opens_are_a_conflict_and_no_reason_to_repeat(settings, two_keys):
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys={"new": b"n" * 32})

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert done.code == 4
    assert found["left"] == found["unreadable"] > 0
    assert f"{found['left']} values open with no configured key" in done.err
    assert "repeating does not help" in done.err
    assert "Repeat the command" not in done.err


def test_values_that_other_sessions_use_are_left_to_a_repeat(monkeypatch, two_keys):
    monkeypatch.setattr(sealing_anew, "_write", lambda column, value: 0)

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["unreadable"]) == (6, 0)
    assert f"{found['left']} values still have another key" in done.err
    assert "Repeat the command" in done.err
    assert "no configured key" not in done.err


def test_a_repeat_comes_first_where_some_values_cannot_be_opened(monkeypatch, two_keys):
    spoiled = make_task(make_tenant("Beta"))
    altered = b"\x01\x04test" + bytes(40)
    TaskRevision.objects.filter(task=spoiled).update(sealed=altered)
    monkeypatch.setattr(sealing_anew, "_write", lambda column, value: 0)

    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["unreadable"]) == (6, 1)
    assert f"{found['left'] - 1} values still have another key" in done.err
    assert "1 values open with no configured key" in done.err


def test_reseal_seals_everything_under_the_active_key(two_keys):
    done = call("keys", "reseal", "--yes", "--json")
    found = read_document("keys-reseal", done.out)

    assert (done.code, found["key"], found["left"]) == (0, "new", 0)
    assert found["sealed"] > 0
    listed = read_document("keys-list", call("keys", "list", "--json").out)["keys"]
    assert [key["values"] > 0 for key in listed] == [True, False]


def test_reseal_asks_first():
    assert call("keys", "reseal").code == 2
