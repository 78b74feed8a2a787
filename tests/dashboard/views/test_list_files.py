"""Lists downloaded from their pages."""

from __future__ import annotations

import csv
import io

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from insight import list_budget
from tests.factories import make_dead_letter, make_execution, once

PATHS = {
    "executions": "/executions/file",
    "tasks": "/tasks/file",
    "dead_letters": "/dead-letters/file",
}


@pytest.mark.parametrize("of", PATHS)
def test_the_file_of_a_list_has_its_rows_alone(browser, alpha, beta, of):
    make_dead_letter(alpha, once(name="Invoice"))
    make_dead_letter(alpha, once(name="Report"))
    make_dead_letter(beta, once(name="Invoice of another tenant"))
    client = browser(alpha, role="viewer")

    answer = client.get(f"{PATHS[of]}?q=invoice&columns=&density=compact&saved=none")

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="{of}.csv"'
    [row] = list(csv.DictReader(io.StringIO(answer.text, "")))
    assert row["name" if of == "tasks" else "task_name"] == "Invoice"
    lines = client.get(f"{PATHS[of]}?format=jsonl").content.splitlines()
    assert len({orjson.loads(line)["id"] for line in lines}) == 2


def test_the_window_of_the_page_holds(browser, alpha):
    make_execution(alpha, "SUCCEEDED")
    client = browser(alpha)

    assert len(client.get("/executions/file?status=FAILED&format=jsonl").content) == 0
    assert client.get("/executions/file?window=oops").status_code == 400
    assert client.get("/executions/file?format=xml").status_code == 400


@pytest.mark.parametrize("of", PATHS)
def test_a_filter_that_cannot_be_read_is_refused(browser, alpha, of):
    answer = browser(alpha).get(f"{PATHS[of]}?filter=oops%3A1")

    assert answer.status_code == 400
    assert "There is no field" in answer.text


@pytest.mark.parametrize("of", PATHS)
def test_a_file_that_takes_too_long_is_refused_as_its_page_is(
    browser, alpha, of, monkeypatch: pytest.MonkeyPatch
):
    def take_too_long(milliseconds, read):
        raise list_budget.OutOfTime

    monkeypatch.setattr(list_budget, "within", take_too_long)
    client = browser(alpha)

    with CaptureQueriesContext(connection) as asked:
        answer = client.get(f"{PATHS[of]}?filter=task%3Ax*y")

    assert answer.status_code == 400
    assert "takes over two seconds" in answer.text
    assert not [one for one in asked.captured_queries if "x.*y" in str(one["sql"])]
