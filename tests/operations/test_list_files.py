"""Lists of commands as CSV and JSON lines."""

from __future__ import annotations

import csv
import io

import orjson
import pytest

from insight.presentation.list_files import LIST_FILES
from shared import keyset
from tests.factories import make_dead_letter, once
from tests.support.command_calls import call
from tests.support.command_documents import read_document

COMMANDS = {"executions": "executions", "tasks": "tasks", "dead_letters": "dlq"}


@pytest.fixture
def rows(alpha):
    for name in ("=One", "Two", "Three"):
        make_dead_letter(alpha, once(name=name, payload={"secret": "canary"}))


@pytest.mark.parametrize("of", COMMANDS)
def test_all_rows_are_written_in_the_order_of_the_list(rows, of):
    command = COMMANDS[of]
    listed = [row["id"] for row in orjson.loads(call(command, "list", "--json").out)[of]]

    table = call(command, "list", "--csv")
    lines = call(command, "list", "--jsonl").out.splitlines()

    found = list(csv.DictReader(io.StringIO(table.out, "")))
    assert tuple(found[0]) == LIST_FILES[of].columns
    assert [row["id"] for row in found] == listed
    assert [read_document(f"{command}-list-line", line)["id"] for line in lines] == listed
    assert "'=One" in table.out
    assert "canary" not in table.out + "".join(lines)
    limited = call(command, "list", "--csv", "--limit", "2").out
    assert [row["id"] for row in csv.DictReader(io.StringIO(limited, ""))] == listed[:2]


def test_rows_beyond_a_page_follow(rows, monkeypatch):
    by_page = keyset.each_page

    def small(*given, **options):
        return by_page(*given, **options, at_once=2)

    monkeypatch.setattr("operations.list_files.each_page", small)

    assert len(call("dlq", "list", "--jsonl").out.splitlines()) == 3
