from __future__ import annotations

from tests.factories import make_task
from tests.support.runs_api import pointers
from tests.support.workflows import calls, make_workflow

SECRET = {"url": "https://api.example.com/a", "auth": {"type": "bearer", "token": "s3cret"}}


def replace(client, task, body):
    return client.put(f"/v1/workflows/{task.id}", body)


def test_a_definition_takes_the_place_of_the_current_one(client, alpha):
    task = make_workflow(alpha, [calls("a")], labels={"team": "data"}, priority=2)

    found = replace(client, task, {"name": "New", "steps": [calls("b")]}).json()

    assert (found["name"], found["version"]) == ("New", 2)
    assert (found["labels"], found["priority"]) == ({}, 5)
    assert [step["key"] for step in found["steps"]] == ["b"]


def test_a_masked_secret_stays_and_a_moved_one_must_be_written_anew(client, alpha):
    task = make_workflow(alpha, [{"key": "a", "target": SECRET}])
    [masked] = client.get(f"/v1/workflows/{task.id}").json()["steps"]

    same = replace(client, task, {"name": "New", "steps": [masked]})
    masked["target"]["url"] = "https://evil.example.com/"
    moved = replace(client, task, {"name": "New", "steps": [masked]})

    assert same.status_code == 200, same.content
    [(pointer, code)] = pointers(moved)
    assert pointer.startswith("#/steps/0/target")
    assert code == "secret_required"


def test_what_is_left_out_and_needed_is_named(client, alpha):
    task = make_workflow(alpha, [calls("a")])

    assert pointers(replace(client, task, {})) == {("#/name", "required"), ("#/steps", "required")}


def test_a_plain_task_is_404(client, alpha):
    body = {"name": "New", "steps": [calls("b")]}

    assert replace(client, make_task(alpha), body).status_code == 404
