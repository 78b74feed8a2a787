from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from shared.instants import format_instant, parse_instant
from tenants.models import Tenant
from tests.factories import ApiClient, daily, make_task, once

URL = "/v1/forecast"


def test_the_starts_of_a_week_are_told(client: ApiClient, alpha: Tenant):
    tasks = [make_task(alpha, daily(name=f"Report {number}")) for number in range(6)]

    answer = client.get(URL)

    shown = answer.json()
    assert answer.status_code == 200
    assert (shown["tasks"], shown["tasks_counted"], shown["complete"]) == (6, 6, True)
    assert (shown["starts"], len(shown["buckets"]), shown["resolution"]) == (42, 7, "hour")
    assert shown["destinations"] == [{"destination": tasks[0].destination, "count": 42}]
    [spot] = shown["hot_spots"]
    assert (spot["count"], spot["tasks"], spot["repeats"]) == (6, 6, 6)
    assert parse_instant(spot["at"]) == tasks[0].next_run_at


def test_minutes_days_and_a_later_beginning_can_be_asked_for(client: ApiClient, alpha: Tenant):
    at = database_now() + timedelta(days=20)
    make_task(alpha, once(at))
    start = format_instant(at - timedelta(hours=1))

    shown = client.get(f"{URL}?resolution=minute&days=1&from={start}").json()

    minute = at.replace(second=0, microsecond=0)
    assert shown["buckets"] == [{"at": format_instant(minute), "count": 1}]
    assert parse_instant(shown["to"]) - parse_instant(shown["from"]) == timedelta(days=1)
    assert client.get(URL).json()["buckets"] == []


def test_destination_and_label_choose(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)
    make_task(alpha, daily(target={"url": "https://other.example.com"}, labels={}))

    for query in (f"destination={task.destination}", "label=team", "label=team:billing"):
        assert client.get(f"{URL}?{query}").json()["tasks"] == 1
    for spelling in ("API.Example.com.", "api.example.com:0443"):
        assert client.get(f"{URL}?destination={spelling}").json()["tasks"] == 1
    assert client.get(f"{URL}?destination=nowhere:1").json()["starts"] == 0
    assert client.get(f"{URL}?destination=no%20host").json()["starts"] == 0


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("days=0", "?days"),
        ("days=8", "?days"),
        ("days=x", "?days"),
        ("resolution=second", "?resolution"),
        ("from=yesterday", "?from"),
        ("from=2020-01-01T00:00:00Z", "?from"),
        ("from=9999-12-31T23:59:59Z", "?from"),
        ("from=0001-01-01T00:00:00Z", "?from"),
        ("pool=x", "?pool"),
        ("label=%00", "?label"),
    ],
)
def test_wrong_parameters_are_refused(client: ApiClient, query: str, pointer: str):
    answer = client.get(f"{URL}?{query}")

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_another_tenants_tasks_are_not_seen(client: ApiClient, beta: Tenant):
    make_task(beta)

    assert client.get(URL).json()["tasks"] == 0


def test_every_text_is_taken_as_a_label(client: ApiClient, alpha: Tenant):
    make_task(alpha)

    for label in ("%25", "a%3Ab%3Ac", "%22", "%7Btasks%7D", "%25s"):
        shown: Any = client.get(f"{URL}?label={label}").json()
        assert shown["tasks"] == 0
