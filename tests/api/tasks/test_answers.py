from __future__ import annotations

import pytest

from api.tasks.answers import task_answer
from shared.redaction import MASK
from tests.factories import daily, make_dead_letter, make_task, once

HEADERS = {"Authorization": "Bearer s3cret", "cookie": "a=s3cret", "X-Team": "billing"}
SHOWN = {"Authorization": MASK, "cookie": MASK, "X-Team": "billing"}
TARGET = {"url": "https://api.example.com/reports", "headers": HEADERS}


def test_a_task_is_answered_with_its_version_and_a_new_one_with_its_place(alpha):
    task = make_task(alpha)

    shown, made = task_answer(task, more=1), task_answer(task, status=201)

    assert (shown.headers["ETag"], shown.data["more"]) == ('"1"', 1)
    assert "Location" not in shown.headers
    assert made.headers["Location"] == f"/v1/tasks/{task.id}"


def test_a_new_task_is_answered_without_the_values_of_its_secret_headers(client):
    made = client.post("/v1/tasks", daily(target=TARGET), idempotency_key="a")
    again = client.post("/v1/tasks", daily(target=TARGET), idempotency_key="a")
    many = client.post("/v1/tasks/bulk", {"tasks": [daily(target=TARGET)]}, idempotency_key="b")

    assert [answer.status_code for answer in (made, again, many)] == [201, 201, 200]
    assert made.json()["target"]["headers"] == SHOWN
    assert many.json()["results"][0]["task"]["target"]["headers"] == SHOWN
    assert b"s3cret" not in made.content + again.content + many.content


@pytest.mark.parametrize(
    "path",
    ["", "/revisions", "/executions", "/occurrences?from=2026-01-01T00:00:00Z", "/explain"],
)
def test_no_answer_about_a_task_shows_the_values_of_its_secret_headers(client, alpha, path):
    task = make_task(alpha, daily(target=TARGET))
    assert client.patch(f"/v1/tasks/{task.id}", {"priority": 2}).status_code == 200

    answer = client.get(f"/v1/tasks/{task.id}{path}")

    assert b"s3cret" not in answer.content
    assert b"s3cret" not in client.get("/v1/tasks").content
    assert ("headers" in answer.text) == (path in ("", "/revisions"))


def test_no_answer_about_what_ran_shows_the_values_of_secret_headers(client, alpha):
    letter = make_dead_letter(alpha, once(target=TARGET))
    paths = (f"executions/{letter.execution_id}", "executions", f"dlq/{letter.id}", "dlq")

    answers = [client.get(f"/v1/{path}") for path in paths]

    assert b"s3cret" not in b"".join(answer.content for answer in answers)
    shown = answers[0].json()["attempts"][0]["request"]["headers"]
    assert {name: shown[name] for name in HEADERS} == SHOWN
