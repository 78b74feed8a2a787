from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import daily, every_second, executions_of, make_task, prepare
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_the_ledger_is_printed_as_a_table_and_as_json(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    first = executions_of(task)[0]

    said = call("tasks", "occurrences", str(task.id), "--since", "1m", "--limit", "30")
    printed = call("tasks", "occurrences", str(task.id), "--since", "1m", "--json", "--limit", "30")

    document = read_document("tasks-occurrences", printed.out)
    assert document["occurrences"][0]["execution_id"] == str(first.id)
    assert len(document["occurrences"]) == 30
    assert str(first.id)[-12:] in said.out
    assert "EXPECTED" in said.out
    assert "continue with --cursor" in said.err


def test_a_cursor_goes_on(alpha: Tenant):
    task = make_task(alpha, every_second())
    words = ("tasks", "occurrences", str(task.id), "--until", "1h", "--limit", "5", "--json")

    first = read_document("tasks-occurrences", call(*words).out)
    cursor = first["pagination"]["next_cursor"]
    second = read_document("tasks-occurrences", call(*words, "--cursor", cursor).out)

    assert second["occurrences"][0]["scheduled_for"] > first["occurrences"][-1]["scheduled_for"]


@pytest.mark.parametrize(
    "words", [("--limit", "0"), ("--since", "soon"), ("--until", "later"), ("--cursor", "x")]
)
def test_wrong_use_is_refused(alpha: Tenant, words: tuple[str, ...]):
    task = make_task(alpha, daily())

    assert call("tasks", "occurrences", str(task.id), *words).code == 2
