from __future__ import annotations

from urllib.parse import urlencode
from uuid import uuid4

import pytest

from executions.changes import changing
from tasks.models import Task
from tasks.transitions import Pause
from tests.factories import ACTOR, daily, make_task, once, spoil


def names(answer):
    assert answer.status_code == 200, answer.content
    return [task["name"] for task in answer.json()["tasks"]]


def test_tasks_are_listed_newest_first(client, alpha):
    for name in "abc":
        make_task(alpha, daily(name=name))

    answer = client.get("/v1/tasks")

    assert names(answer) == ["c", "b", "a"]
    assert answer.json()["pagination"] == {
        "limit": 20,
        "page": 1,
        "total": 3,
        "total_estimated": False,
        "next_cursor": None,
    }
    assert answer.json()["tasks"][0]["payload"] == {"report": 1}


def test_tasks_of_an_owner_are_listed(client, alpha):
    make_task(alpha, daily(name="mine", owner="ops@example.com"))
    make_task(alpha, daily(name="nobody's"))

    found = client.get("/v1/tasks?owner=ops%40example.com")

    assert names(found) == ["mine"]
    assert found.json()["tasks"][0]["owner"] == "ops@example.com"
    assert names(client.get("/v1/tasks?owner=other")) == []
    assert client.get(f"/v1/tasks?owner={'x' * 255}").status_code == 400


def test_a_task_whose_payload_no_key_opens_does_not_hide_the_others(client, alpha):
    make_task(alpha, daily(name="whole"))
    spoiled = spoil(make_task(alpha, daily(name="spoiled")))

    listed = client.get("/v1/tasks").json()["tasks"]
    shown = client.get(f"/v1/tasks/{spoiled.id}")

    assert [(task["name"], task["payload"]) for task in listed] == [
        ("spoiled", None),
        ("whole", {"report": 1}),
    ]
    assert "ENCRYPTION_KEYS" in listed[0]["missing"]
    assert "missing" not in listed[1]
    assert (shown.status_code, shown.json()["missing"]) == (200, listed[0]["missing"])


def test_a_task_whose_payload_no_key_opens_is_paused_but_not_edited(client, alpha):
    spoiled = spoil(make_task(alpha))

    paused = client.post(f"/v1/tasks/{spoiled.id}/pause", idempotency_key="p")
    edited = client.patch(f"/v1/tasks/{spoiled.id}", {"name": "new"}, idempotency_key="e")

    assert (paused.status_code, paused.json()["status"]) == (200, "PAUSED")
    assert (edited.status_code, edited.json()["code"]) == (409, "decryption_failed")
    assert Task.objects.get(pk=spoiled.pk).version == spoiled.version


def test_a_page_costs_the_same_whatever_it_holds(client, alpha, django_assert_max_num_queries):
    for number in range(12):
        make_task(alpha, daily(name=str(number)))
    client.get("/v1/tasks")

    with django_assert_max_num_queries(7):
        assert len(names(client.get("/v1/tasks"))) == 12


@pytest.mark.parametrize("ordering", ["-created_at", "name", "-name", "updated_at", "priority"])
def test_a_cursor_goes_on_where_the_page_ended(client, alpha, ordering):
    for number in range(5):
        make_task(alpha, daily(name=str(number), priority=number % 2))
    whole = names(client.get(f"/v1/tasks?ordering={ordering}"))

    path = f"/v1/tasks?ordering={ordering}&limit=2"
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = client.get(path + (f"&cursor={cursor}" if cursor else ""))
        found += names(answer)
        cursor = answer.json()["pagination"]["next_cursor"]

    assert found == whole
    assert names(client.get(path + "&page=2")) == whole[2:4]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=PAUSED", ["paused"]),
        ("status=PAUSED,CANCELLED", ["cancelled", "paused"]),
        ("status=PAUSED&status=CANCELLED", ["cancelled", "paused"]),
        ("type=ONE_TIME", ["once"]),
        ("label=team:billing", ["paused"]),
        ("label=team", ["cancelled", "paused"]),
        ("label=team:other", []),
        ("label=a:b:c", ["cancelled"]),
        ("q=PAUS", ["paused"]),
        ("q=billing", ["paused"]),
        ("q=%25", []),
        ("q=paused&type=ONE_TIME", []),
        ("ordering=name", ["cancelled", "once", "paused"]),
    ],
)
def test_filters_narrow_the_list(client, alpha, query, expected):
    paused = make_task(alpha, daily(name="paused", labels={"team": "billing"}))
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    labels = {"team": "web", "a:b": "c"}
    cancelled = make_task(alpha, daily(name="cancelled", labels=labels))
    changing.cancel_task(alpha.id, cancelled.id, actor=ACTOR)
    make_task(alpha, once(labels={}) | {"name": "once"})

    assert sorted(names(client.get(f"/v1/tasks?{query}"))) == expected


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "page=0",
        "cursor=abc",
        "page=1&cursor=abc",
        "status=paused",
        "type=DAILY",
        "ordering=payload",
        "oops=1",
        "q=%00",
        "label=" + "x" * 300,
    ],
)
def test_parameters_that_are_not_valid_are_400(client, query):
    answer = client.get(f"/v1/tasks?{query}")

    assert answer.status_code == 400
    assert answer.json()["errors"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("api.example.com", ["first", "ended"]),
        ("API.example.com.", ["first", "ended"]),
        ("api.example.com:443", ["first", "ended"]),
        ("api.example.com:8443", ["other port"]),
        ("example.com", []),
        ("not a host", []),
    ],
)
def test_tasks_that_call_a_host_are_listed_whatever_its_spelling(client, alpha, host, expected):
    for name, url in (("first", "https://api.example.com/a"), ("ended", "http://API.example.com/b"),
                      ("other port", "https://api.example.com:8443/")):  # fmt: skip
        task = make_task(alpha, daily(name=name, target={"url": url}))
        if name == "ended":
            changing.cancel_task(alpha.id, task.id, actor=ACTOR)

    found = names(client.get(f"/v1/tasks?{urlencode({'destination': host})}"))

    assert sorted(found) == sorted(expected)


def test_deleted_tasks_and_other_tenants_are_not_listed(client, stranger, alpha):
    task = make_task(alpha)
    assert names(stranger.get("/v1/tasks")) == []

    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    assert names(client.get("/v1/tasks")) == []
    assert client.get(f"/v1/tasks?q={uuid4()}").json()["pagination"]["total"] == 0
