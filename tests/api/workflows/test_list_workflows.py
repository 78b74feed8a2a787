from __future__ import annotations

from tests.factories import make_task
from tests.support.workflows import calls, make_workflow


def names(answer):
    return [workflow["name"] for workflow in answer.json()["workflows"]]


def test_workflows_are_listed_newest_first_without_plain_tasks(client, alpha, beta):
    for name in ("one", "two"):
        make_workflow(alpha, [calls("a")], name=name)
    make_task(alpha)
    make_workflow(beta, [calls("a")], name="foreign")

    answer = client.get("/v1/workflows")

    assert names(answer) == ["two", "one"]
    assert answer.json()["pagination"]["total"] == 2
    [two, _] = answer.json()["workflows"]
    assert two == client.get(f"/v1/workflows/{two['id']}").json()


def test_filters_are_those_of_tasks(client, alpha):
    make_workflow(alpha, [calls("a")], name="one", labels={"team": "data"})
    two = make_workflow(alpha, [calls("a")], name="two")
    client.post(f"/v1/workflows/{two.id}/pause")

    assert names(client.get("/v1/workflows?label=team:data")) == ["one"]
    assert names(client.get("/v1/workflows?status=PAUSED")) == ["two"]
    assert names(client.get("/v1/workflows?q=tw")) == ["two"]
    assert names(client.get("/v1/workflows?ordering=name&limit=1")) == ["one"]
    assert client.get("/v1/workflows?type=MANUAL").status_code == 400


def test_a_cursor_goes_on_where_the_page_ended(client, alpha):
    for name in ("one", "two", "three"):
        make_workflow(alpha, [calls("a")], name=name)
    first = client.get("/v1/workflows?limit=2")

    cursor = first.json()["pagination"]["next_cursor"]
    second = client.get(f"/v1/workflows?limit=2&cursor={cursor}")

    assert names(first) + names(second) == ["three", "two", "one"]


def test_the_list_of_tasks_has_workflows_without_their_steps(client, alpha):
    task = make_workflow(alpha, [calls("a")])

    [shown] = client.get("/v1/tasks").json()["tasks"]

    assert (shown["id"], shown["type"]) == (str(task.id), "MANUAL")
    assert shown["target"]["kind"] == "workflow"
    assert "steps" not in shown["target"]
