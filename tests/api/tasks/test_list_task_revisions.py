from __future__ import annotations

import pytest

from tests.factories import make_task


@pytest.fixture
def task(client, alpha):
    task = make_task(alpha)
    for name in ("two", "three"):
        client.patch(f"/v1/tasks/{task.id}", {"name": name})
    return task


def test_versions_are_listed_newest_first_each_with_its_definition(client, task):
    answer = client.get(f"/v1/tasks/{task.id}/revisions")

    assert answer.status_code == 200
    revisions = answer.json()["revisions"]
    assert [revision["version"] for revision in revisions] == [3, 2, 1]
    assert [row["definition"]["name"] for row in revisions] == ["three", "two", "Daily report"]
    assert revisions[0]["changed_by"].startswith("api_key:")
    assert revisions[0]["created_at"].endswith("Z")
    assert revisions[2]["definition"]["payload"] == {"report": 1}


def test_a_cursor_goes_on_where_the_page_ended(client, task):
    path = f"/v1/tasks/{task.id}/revisions?limit=2"
    cursor = client.get(path).json()["pagination"]["next_cursor"]

    second = client.get(f"{path}&cursor={cursor}").json()

    assert [revision["version"] for revision in second["revisions"]] == [1]


def test_parameters_that_are_not_valid_are_400(client, task):
    assert client.get(f"/v1/tasks/{task.id}/revisions?version=1").status_code == 400
