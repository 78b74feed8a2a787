from __future__ import annotations

from tests.factories import make_task
from tests.support.calendars import make_calendar, under


def names(answer) -> list[str]:
    return [one["name"] for one in answer.json()["calendars"]]


def test_calendars_are_listed_by_name_with_counts(client, alpha, beta):
    make_calendar(alpha, "Maintenance", dates=[])
    make_calendar(alpha, "Holidays")
    make_calendar(beta, "Another tenant's")
    make_task(alpha, under("Holidays"))
    make_task(alpha, under("Holidays", "Maintenance"))
    make_task(alpha)

    answer = client.get("/v1/calendars")

    assert answer.status_code == 200
    assert [
        (one["name"], one["date_count"], one["window_count"], one["tasks"])
        for one in answer.json()["calendars"]
    ] == [("Holidays", 2, 0, 2), ("Maintenance", 0, 0, 1)]
    assert "dates" not in answer.json()["calendars"][0]


def test_a_list_goes_on_by_cursor_and_finds_names(client, alpha):
    for name in ("b", "a", "c"):
        make_calendar(alpha, name)

    first = client.get("/v1/calendars?limit=2")
    rest = client.get(f"/v1/calendars?cursor={first.json()['pagination']['next_cursor']}")

    assert (names(first), names(rest)) == (["a", "b"], ["c"])
    assert names(client.get("/v1/calendars?q=B")) == ["b"]


def test_an_unknown_parameter_is_refused(client):
    answer = client.get("/v1/calendars?name=x")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "?name"
