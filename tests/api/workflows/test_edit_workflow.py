from __future__ import annotations

import pytest

from executions.models import Execution
from tests.factories import make_task
from tests.support.runs_api import pointers, problem, shown, steps
from tests.support.workflows import begin_run, calls, make_workflow, states, work

SECRET = {"url": "https://api.example.com/a", "auth": {"type": "bearer", "token": "s3cret"}}


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [{"key": "a", "target": SECRET}, calls("b", "a")])


def edit(client, task, body, **headers):
    return client.patch(f"/v1/workflows/{task.id}", body, **headers)


def test_an_edit_is_merged_into_the_workflow(client, task):
    answer = edit(
        client, task, {"name": "New", "schedule": {"every": "PT1H"}, "labels": {"a": "b"}}
    )

    assert answer.status_code == 200, answer.content
    assert answer["ETag"] == '"2"'
    found = answer.json()
    assert (found["name"], found["version"], found["labels"]) == ("New", 2, {"a": "b"})
    assert found["schedule"]["every"] == "PT1H"
    assert found["next_execution"] is not None
    assert [step["key"] for step in found["steps"]] == ["a", "b"]


def test_the_schedule_is_removed_by_null(client, alpha):
    task = make_workflow(alpha, [calls("a")], schedule={"every": "PT1H"})

    found = edit(client, task, {"schedule": None}).json()

    assert (found["schedule"], found["next_execution"]) == (None, None)


def test_an_answer_sent_back_changes_nothing(client, task):
    whole = client.get(f"/v1/workflows/{task.id}").json()
    known = {key: whole[key] for key in ("name", "steps", "schedule", "labels", "priority")}

    answer = edit(client, task, known)

    assert (answer.status_code, answer.json()["version"]) == (200, 1), answer.content


def test_a_run_that_has_begun_keeps_its_version(client, alpha):
    task = make_workflow(alpha, [calls("a"), calls("b", "a")])
    run = begin_run(task)

    assert edit(client, task, {"steps": [calls("a"), calls("z", "a")]}).status_code == 200
    done = work(run)

    assert done == ["a", "b"]
    assert states(run) == {"a": "SUCCEEDED", "b": "SUCCEEDED"}
    found = shown(client, run)
    assert (found["workflow_version"], set(steps(found))) == (1, {"a", "b"})
    assert not Execution.objects.filter(status="PENDING").exists()


def test_status_pauses_and_resumes(client, task):
    assert edit(client, task, {"status": "PAUSED"}).json()["status"] == "PAUSED"
    assert edit(client, task, {"status": "SCHEDULED"}).json()["status"] == "SCHEDULED"


def test_an_edit_of_another_version_is_refused(client, task):
    assert problem(edit(client, task, {"name": "x"}, if_match='"7"')) == (412, "version_mismatch")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"steps": None}, {("#/steps", "required")}),
        ({"steps": [calls("a", "a")]}, {("#/steps/0/depends_on", "workflow_cycle")}),
        ({"id": "x"}, {("#/id", "read_only")}),
        ({"oops": 1}, {("#/oops", "unknown_field")}),
        ({"name": ""}, None),
        ([], None),
        (b'{"name": "a\\u0000"}', {("#/name", "text_invalid")}),
    ],
)
def test_what_is_wrong_is_named_and_nothing_changes(client, task, body, found):
    answer = edit(client, task, body)

    assert answer.status_code == 400, answer.content
    assert found is None or pointers(answer) == found
    assert client.get(f"/v1/workflows/{task.id}").json()["version"] == 1


def test_a_plain_task_and_a_foreign_workflow_are_404(client, stranger, alpha, task):
    plain = make_task(alpha)

    assert edit(client, plain, {"name": "x"}).status_code == 404
    assert edit(stranger, task, {"name": "x"}).status_code == 404


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_a_workflow_is_not_edited_as_a_task(client, task, method):
    answer = client.call(method, f"/v1/tasks/{task.id}", {"name": "x"})

    assert problem(answer) == (409, "is_workflow")
    assert f"/v1/workflows/{task.id}" in answer.json()["detail"]
    assert client.get(f"/v1/workflows/{task.id}").json()["version"] == 1


def test_a_workflow_is_paused_by_its_status_as_a_task_as_well(client, task):
    assert client.patch(f"/v1/tasks/{task.id}", {"status": "PAUSED"}).status_code == 200
    assert client.patch(f"/v1/tasks/{task.id}", {}).status_code == 200
