from __future__ import annotations

import pytest

from tasks.models import Task, TaskRevision
from tests.support.hostile_json import HOSTILE
from tests.support.runs_api import pointers, post, problem
from tests.support.workflows import calls

ETL = {
    "name": "nightly-etl",
    "schedule": {"cron_expression": "0 2 * * *", "timezone": "Europe/Berlin"},
    "on_failure": "fail_fast",
    "max_concurrent": 1,
    "deadline_seconds": 7200,
    "labels": {"team": "data"},
    "priority": 3,
    "steps": [
        calls("extract", payload={"day": "{{ run.scheduled_for }}"}),
        calls("load", "extract", for_each="{{ steps.extract.output.files }}", max_parallel=20),
        {"key": "approve", "kind": "approval", "depends_on": ["load"], "timeout_seconds": 60},
        calls("report", "approve", condition="all_done"),
    ],
}


def create(client, body, **headers):
    return post(client, "/v1/workflows", body, **headers)


def test_a_workflow_is_created_and_answered_whole(client):
    answer = create(client, ETL)

    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["Location"] == f"/v1/workflows/{made['id']}"
    assert answer["ETag"] == '"1"'
    assert [step["key"] for step in made["steps"]] == ["extract", "load", "approve", "report"]
    assert made["steps"][1]["max_parallel"] == 20
    assert made["schedule"]["cron_expression"] == "0 2 * * *"
    expected = {"name": "nightly-etl", "status": "SCHEDULED", "version": 1, "priority": 3}
    assert expected.items() <= made.items()
    assert made["max_concurrent"] == 1
    assert made["next_execution"].endswith("Z")
    assert made["next_execution_local"][11:16] == "02:00"
    assert "Berlin" in made["schedule_text"]
    assert client.get(answer["Location"]).json() == made


def test_a_workflow_without_a_schedule_has_null_there(client):
    made = create(client, {"name": "Flow", "steps": [calls("a")]}).json()

    assert (made["schedule"], made["next_execution"]) == (None, None)
    assert made["schedule_text"] == "Only when asked"


def test_secrets_of_steps_are_masked(client):
    target = {"url": "https://api.example.com/a", "auth": {"type": "bearer", "token": "s3cret"}}

    answer = create(client, {"name": "Flow", "steps": [{"key": "a", "target": target}]})

    assert answer.status_code == 201
    assert b"s3cret" not in answer.content


def test_the_same_key_gives_the_first_answer_again(client):
    first = create(client, ETL, idempotency_key="one")
    again = create(client, ETL, idempotency_key="one")
    other = create(client, {**ETL, "name": "other"}, idempotency_key="one")

    assert again["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert problem(other) == (422, "idempotency_mismatch")
    assert Task.objects.count() == 1


def test_a_key_is_required(client):
    assert client.post("/v1/workflows", ETL).status_code == 400
    assert not Task.objects.exists()


def test_a_cycle_is_refused_with_its_path(client):
    answer = create(client, {"name": "x", "steps": [calls("a", "b"), calls("b", "a")]})

    assert pointers(answer) == {("#/steps/0/depends_on", "workflow_cycle")}
    [error] = answer.json()["errors"]
    assert error["path"] == ["a", "b", "a"]
    assert "a → b → a" in error["message"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"steps": []}, {("#/steps", "out_of_range")}),
        ({"steps": "a"}, {("#/steps", "invalid_type")}),
        ({"steps": [1]}, {("#/steps/0", "invalid_type")}),
        ({"name": 5}, {("#/name", "invalid_type")}),
        ({"oops": 1}, {("#/oops", "unknown_field")}),
        ({"target": {"url": "https://x.example"}}, {("#/target", "unknown_field")}),
        ({"steps": [{**calls("a"), "oops": 1}]}, {("#/steps/0/oops", "unknown_field")}),
        ({"steps": [calls("a"), calls("a")]}, {("#/steps/1/key", "not_unique")}),
        ({"steps": [calls("a", "b")]}, {("#/steps/0/depends_on/0", "step_unknown")}),
        ({"priority": 10}, {("#/priority", "out_of_range")}),
        ({"schedule": {"every": "PT0S"}}, None),
        ({"schedule": 1}, {("#/schedule", "invalid_type")}),
        ({"input_schema": {"type": "nonsense"}}, None),
        (
            {"max_concurrent": 2, "schedule": {"every": "PT1H", "max_concurrent": 1}},
            {("#/max_concurrent", "exclusive")},
        ),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(client, changes, found):
    answer = create(client, {"name": "Flow", "steps": [calls("a")], **changes})

    assert found is None or pointers(answer) == found, answer.content
    assert answer.status_code == 400
    assert not Task.objects.exists()
    assert not TaskRevision.objects.exists()


@pytest.mark.parametrize(("raw", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_bodies_are_refused(client, raw, code):
    answer = create(client, raw)

    assert answer.status_code == 400
    assert {error["code"] for error in answer.json()["errors"]} == {code}
    assert not Task.objects.exists()


def test_a_definition_that_is_too_large_is_413(client):
    steps = [calls(f"s{number}", payload="x" * 60_000) for number in range(10)]

    assert create(client, {"name": "Flow", "steps": steps}).status_code == 413
    assert not Task.objects.exists()


def test_a_workflow_needs_the_scope_write(viewer):
    assert problem(create(viewer, ETL)) == (403, "forbidden")
