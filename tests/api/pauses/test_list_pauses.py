from __future__ import annotations

import pytest

from tests.executions.changes.standing import end, stand
from tests.factories import make_task

URL = "/v1/pauses"


def ids(client, query=""):
    answer = client.get(f"{URL}{query}")
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["pauses"]]


def test_pauses_are_listed_newest_first_with_what_they_hold(client, alpha, beta):
    make_task(alpha)
    first, second = stand(alpha), stand(alpha, "tenant", "")
    stand(beta)

    assert ids(client) == [str(second.id), str(first.id)]
    assert ids(client, "?ordering=created_at") == [str(first.id), str(second.id)]
    counts = [row["task_count"] for row in client.get(URL).json()["pauses"]]
    assert counts == [0, 1]


def test_open_ones_and_ended_ones_are_told_apart(client, alpha):
    first, second = stand(alpha), stand(alpha, "tenant", "")
    end(first)

    assert ids(client, "?open=true") == [str(second.id)]
    assert ids(client, "?open=false") == [str(first.id)]
    assert len(ids(client)) == 2


def test_a_list_goes_on_page_by_page(client, alpha):
    made = [stand(alpha, "label", name) for name in ("a", "b", "c")]

    page = client.get(f"{URL}?limit=2").json()
    following = ids(client, f"?limit=2&cursor={page['pagination']['next_cursor']}")

    assert [row["id"] for row in page["pauses"]] == [str(made[2].id), str(made[1].id)]
    assert following == [str(made[0].id)]


@pytest.mark.parametrize("query", ["?open=maybe", "?ordering=note", "?opne=true", "?limit=0"])
def test_an_odd_query_is_400(client, query):
    assert client.get(f"{URL}{query}").status_code == 400
