from __future__ import annotations

import pytest

from tests.executions.gate.key_world import KEY, begin, look, make
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_keys_are_listed(alpha):
    first, _ = make(alpha, 2)
    look()
    begin()

    found = read_document("concurrency-list", call("concurrency", "list", "--json").out)

    [one] = found["concurrency_keys"]
    assert (one["key"], one["in_use"], one["waiting"]) == (KEY, 1, 1)
    assert one["holders"][0]["task_id"] == str(first.id)
    said = call("concurrency", "list").out
    assert KEY in said
    assert one["holders"][0]["execution_id"] in said


def test_keys_are_filtered_and_shown_in_full(alpha):
    long = "k" * 60
    make(alpha, 1, {"key": long})

    assert long in call("concurrency", "list", "--wide").out
    assert long not in call("concurrency", "list").out
    assert KEY not in call("concurrency", "list", "--q", "k").out
