from __future__ import annotations

from executions.models import Execution
from tests.executions.answers import problem
from tests.executions.gate.key_world import KEY, begin, look, make, own_everything


def call(client, query=""):
    return client.get(f"/v1/concurrency-keys{query}")


def test_keys_are_listed_with_what_holds_them(client, alpha):
    first, _ = make(alpha, 2)
    look()
    begin()

    [found] = call(client).json()["concurrency_keys"]

    assert (found["key"], found["in_use"], found["waiting"]) == (KEY, 1, 1)
    [holder] = found["holders"]
    assert holder["task_id"] == str(first.id)
    assert holder["execution_id"] == str(Execution.objects.get(task_id=first.id).id)
    assert (holder["task_name"], holder["status"]) == ("Once", "RUNNING")


def test_the_list_goes_on_behind_the_last_key(client, alpha):
    for key in "ab":
        make(alpha, 1, {"key": key})

    first = call(client, "?limit=1").json()
    second = call(client, f"?limit=1&after={first['next_after']}").json()

    assert [one["key"] for one in first["concurrency_keys"]] == ["a"]
    assert [one["key"] for one in second["concurrency_keys"]] == ["b"]
    assert second["next_after"] is None
    assert [one["key"] for one in call(client, "?q=b").json()["concurrency_keys"]] == ["b"]


def test_unknown_parameters_are_refused(client):
    for query in ("?sort=key", "?limit=0", "?limit=201", f"?q={'x' * 201}"):
        assert problem(call(client, query))[0] == 400


def test_other_tenants_see_nothing_of_it(stranger, alpha):
    make(alpha, 1)

    assert call(stranger).json()["concurrency_keys"] == []


def test_executions_are_filtered_by_their_key(client, alpha, stranger):
    make(alpha, 2)
    make(alpha, 1, {"key": "other"})
    look()
    own_everything()

    found = client.get(f"/v1/executions?concurrency_key={KEY}").json()["executions"]

    assert len(found) == 2
    shown = [client.get(f"/v1/executions/{row['id']}").json() for row in found]
    assert {one["concurrency_key"] for one in shown} == {KEY}
    assert "concurrency_key" in {one["waiting_for"]["what"] for one in shown}
    assert stranger.get(f"/v1/executions?concurrency_key={KEY}").json()["executions"] == []


def test_a_task_shows_its_key_and_an_edit_changes_it(client, alpha):
    [task] = make(alpha, 1)
    path = f"/v1/tasks/{task.id}"
    assert client.get(path).json()["concurrency"] == {"key": KEY, "max": 1, "order": "any"}

    edited = client.call("PATCH", path, {"concurrency": {"max": 4}})
    assert edited.json()["concurrency"] == {"key": KEY, "max": 4, "order": "any"}
    edited = client.call("PATCH", path, {"concurrency": {"order": "fifo"}})
    assert edited.json()["concurrency"] == {"key": KEY, "max": 1, "order": "fifo"}
    removed = client.call("PATCH", path, {"concurrency": None})
    assert "concurrency" not in removed.json()

    refused = client.call("PATCH", path, {"concurrency": {"key": "a", "order": "fifo", "max": 2}})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "#/concurrency/max"
