from __future__ import annotations

import jsonschema_rs
import pytest

from api.tasks.schemas import ZONE_MOVE
from tasks.zone_changes import present_zone_move
from tests.factories import daily, make_task
from tests.support.zone_moves import move_of

URL = "/v1/zone-moves"


def test_moves_are_listed_latest_first(client, alpha):
    task = make_task(alpha, daily())
    first, second = move_of(task, "2026.6"), move_of(task, "2026.7")

    shown = client.get(URL).json()

    assert {row["id"] for row in shown["zone_moves"]} == {str(first.id), str(second.id)}
    assert present_zone_move(first) in shown["zone_moves"]
    assert shown["pagination"]["total"] == 2
    one = client.get(f"{URL}?limit=1").json()
    rest = client.get(f"{URL}?limit=1&cursor={one['pagination']['next_cursor']}").json()
    assert [*one["zone_moves"], *rest["zone_moves"]] == shown["zone_moves"]


def test_a_move_fits_the_published_schema(client, alpha):
    move_of(make_task(alpha, daily()))

    [row] = client.get(URL).json()["zone_moves"]

    assert jsonschema_rs.Draft202012Validator(ZONE_MOVE).is_valid(row)
    assert (row["before"], row["after"]) == ("2027-10-31T06:00:00.000Z", None)
    assert row["moved_count"] == 147


def test_moves_of_one_task_are_found(client, alpha):
    task, other = make_task(alpha, daily()), make_task(alpha, daily())
    move_of(task)
    move_of(other)

    shown = client.get(f"{URL}?task={task.id}").json()["zone_moves"]

    assert [row["task_id"] for row in shown] == [str(task.id)]


@pytest.mark.parametrize("query", ["limit=0", "task=x", "cursor=made-up", "oops=1"])
def test_what_makes_no_sense_is_refused(client, query):
    assert client.get(f"{URL}?{query}").status_code == 400


def test_another_tenants_moves_are_not_listed(client, beta):
    move_of(make_task(beta, daily()))

    assert client.get(URL).json()["zone_moves"] == []
