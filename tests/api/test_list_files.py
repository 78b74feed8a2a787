"""Lists as CSV and JSON lines: the rows of the list, without payloads, a part at a time."""

from __future__ import annotations

import csv
import io

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api import list_files
from executions.models import DeadLetter, Execution
from insight import list_budget
from insight.presentation.list_files import LIST_FILES
from shared import payload_sight
from tests.factories import make_dead_letter, make_execution, make_key, make_task, once
from tests.support.api import ApiClient

PATHS = {"executions": "/v1/executions", "tasks": "/v1/tasks", "dead_letters": "/v1/dlq"}


@pytest.fixture
def rows(alpha, beta):
    make_dead_letter(alpha, once(name="=cmd()", payload={"secret": "canary"}))
    make_dead_letter(alpha)
    make_execution(alpha, "SUCCEEDED")
    make_dead_letter(beta, once(name="Foreign"))


@pytest.mark.parametrize("of", LIST_FILES)
def test_a_file_has_the_rows_of_the_list_and_no_payload(client, rows, of):
    wanted = [row["id"] for row in client.get(f"{PATHS[of]}?limit=200").json()[of]]

    as_csv = client.get(f"{PATHS[of]}?format=csv")
    as_lines = client.get(PATHS[of], accept="application/jsonl")

    assert as_csv["Content-Type"] == "text/csv; charset=utf-8"
    assert as_lines["Content-Type"] == "application/jsonl; charset=utf-8"
    table = list(csv.DictReader(io.StringIO(as_csv.content.decode(), "")))
    documents = [orjson.loads(line) for line in as_lines.content.splitlines()]
    assert [row["id"] for row in table] == [row["id"] for row in documents] == wanted
    assert tuple(table[0]) == tuple(documents[0]) == LIST_FILES[of].columns
    assert "canary" not in as_csv.text + as_lines.text
    assert "Foreign" not in as_csv.text
    assert "'=cmd()" in as_csv.text
    assert '"=cmd()"' in as_lines.text


def test_a_filter_holds_for_files_too(client, rows):
    answer = client.get("/v1/executions?status=SUCCEEDED&format=jsonl")

    assert [orjson.loads(one)["status"] for one in answer.content.splitlines()] == ["SUCCEEDED"]


@pytest.mark.parametrize("of", LIST_FILES)
def test_tasks_that_a_filter_names_are_looked_up_within_the_time_of_the_list(
    client, of, monkeypatch
):
    def take_too_long(milliseconds, read):
        raise list_budget.OutOfTime

    monkeypatch.setattr(list_budget, "within", take_too_long)

    with CaptureQueriesContext(connection) as asked:
        answers = [client.get(f"{PATHS[of]}?filter=task:x*y{more}") for more in ("", "&format=csv")]

    assert [one.json()["code"] for one in answers] == ["window_too_wide"] * 2
    assert not [one for one in asked.captured_queries if "x.*y" in str(one["sql"])]


def test_a_long_file_leads_to_its_next_part(client, rows, monkeypatch):
    monkeypatch.setattr(list_files, "MOST_ROWS", 2)
    wanted = {str(one) for one in Execution.objects.values_list("id", flat=True)}
    own = {row["id"] for row in client.get("/v1/executions").json()["executions"]}

    first = client.get("/v1/executions", accept="text/csv")
    link = first["Link"]
    path = link.partition("<")[2].partition(">")[0]
    rest = client.get(path)

    assert link.endswith('; rel="next"')
    assert "Link" not in rest
    parts = [list(csv.DictReader(io.StringIO(one.content.decode(), ""))) for one in (first, rest)]
    assert [len(part) for part in parts] == [2, 1]
    assert {row["id"] for part in parts for row in part} == own < wanted


@pytest.mark.parametrize("query", ["format=xml", "format=csv&page=1", "format=csv&cursor=oops"])
def test_what_makes_no_file_is_refused(client, query):
    assert client.get(f"/v1/executions?{query}").status_code == 400


def test_json_stays_the_answer_unless_a_file_is_asked_for(client):
    for accept in ("*/*", "application/json", "text/csv;q=0.5, application/json"):
        assert client.get("/v1/executions", accept=accept).json()["executions"] == []
    assert client.get("/v1/executions?format=json", accept="*/*").json()["executions"] == []
    assert client.get("/v1/dlq?group_by=error_signature&format=csv").status_code == 400


def test_texts_of_errors_are_hidden_from_keys_without_payloads(client, alpha):
    letter = make_dead_letter(alpha)
    DeadLetter.objects.filter(pk=letter.pk).update(error_message="quoted canary")
    blind = ApiClient(make_key(alpha, ["read"], sees_payloads=False)[1])

    assert "canary" in client.get("/v1/dlq?format=csv").text
    hidden = blind.get("/v1/dlq?format=csv").text
    assert "canary" not in hidden
    assert payload_sight.HIDDEN in hidden


def test_tasks_are_shown_with_their_place(client, alpha):
    make_task(alpha)

    [row] = client.get("/v1/tasks?format=jsonl").content.splitlines()

    assert orjson.loads(row)["target"] == "webhook"
    assert orjson.loads(row)["host"]
