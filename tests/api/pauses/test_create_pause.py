from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.models import Pause
from tests.executions.answers import audited, problem
from tests.factories import (
    TARGET,
    daily,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)

URL = "/v1/pauses"
LABEL = {"scope": "label", "value": "team:billing"}


def test_a_pause_holds_its_tasks_from_the_answer_on(client, alpha, beta):
    task, strange = make_task(alpha, once(labels={"team": "billing"})), make_task(beta)
    prepare()
    handed = release()

    answer = client.post(URL, {**LABEL, "note": "Down.", "on_resume": "run_once"})

    assert answer.status_code == 201, answer.content
    shown = answer.json()
    assert answer["Location"] == f"/v1/pauses/{shown['id']}"
    made = Pause.objects.get(pk=shown["id"])
    assert shown == {
        "id": str(made.id),
        **LABEL,
        "note": "Down.",
        "on_resume": "run_once",
        "until": None,
        "task_count": 1,
        "created_by": made.created_by,
        "created_at": shown["created_at"],
        "ended_by": None,
        "ended_at": None,
    }
    assert pass_guard(handed) == [0]
    assert (reload(task).status, reload(strange).status) == ("PAUSED", "SCHEDULED")
    entry = audited(made.id, "pause.created")
    assert (entry["actor"], entry["after"]["tasks"]) == (made.created_by, 1)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ({"scope": "tenant"}, ""),
        ({"scope": "tenant", "value": ""}, ""),
        ({"scope": "pool", "value": "default"}, "default"),
        ({"scope": "destination", "value": "API.example.com"}, "api.example.com"),
        ({"scope": "label", "value": "team"}, "team"),
    ],
)
def test_every_scope_is_taken(client, alpha, body, value):
    task = make_task(alpha)

    shown = client.post(URL, body).json()

    assert (shown["value"], shown["task_count"]) == (value, 1)
    assert reload(task).pause_id == Pause.objects.get().id


def test_a_pause_may_end_by_itself(client):
    shown = client.post(URL, {**LABEL, "until": "2099-01-01T00:00:00+01:00"}).json()

    assert shown["until"] == "2098-12-31T23:00:00.000Z"


def test_a_dry_run_counts_and_changes_nothing(client, alpha, beta):
    task = make_task(alpha)
    make_task(beta)

    answer = client.post(URL, {**LABEL, "dry_run": True})

    assert answer.status_code == 200
    assert answer.json() == {
        **LABEL,
        "task_count": 1,
        "sample": [{"id": str(task.id), "name": task.name, "status": "SCHEDULED"}],
    }
    assert not Pause.objects.exists()
    assert reload(task).status == "SCHEDULED"
    assert not AuditEntry.objects.filter(action="pause.created").exists()


def test_a_second_one_of_the_same_is_409_while_the_first_is_open(client, stranger):
    first = client.post(URL, LABEL).json()

    assert problem(client.post(URL, LABEL)) == (409, "already_paused")
    assert problem(client.post(URL, {**LABEL, "dry_run": True})) == (409, "already_paused")
    assert stranger.post(URL, LABEL).status_code == 201
    client.post(f"{URL}/{first['id']}/end", idempotency_key="end")
    assert client.post(URL, LABEL).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (None, "#/scope"),
        ({"scope": "task"}, "#/scope"),
        ({"scope": None}, "#/scope"),
        ({"scope": "label"}, "#/value"),
        ({"scope": "label", "value": 5}, "#/value"),
        ({"scope": "label", "value": "a\x01b"}, "#/value"),
        ({"scope": "label", "value": "x" * 600}, "#/value"),
        ({"scope": "tenant", "value": "alpha"}, "#/value"),
        ({"scope": "destination", "value": "https://api.example.com/"}, "#/value"),
        ({**LABEL, "until": "2020-01-01T00:00:00Z"}, "#/until"),
        ({**LABEL, "until": "tomorrow"}, "#/until"),
        ({**LABEL, "note": "x" * 1001}, "#/note"),
        ({**LABEL, "on_resume": "later"}, "#/on_resume"),
        ({**LABEL, "dry_run": "yes"}, "#/dry_run"),
        ({**LABEL, "unti": None}, "#/unti"),
    ],
)
def test_what_is_not_valid_is_400_and_nothing_changes(client, alpha, body, pointer):
    task = make_task(alpha)

    answer = client.post(URL, body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert reload(task).status == "SCHEDULED"


def test_an_unknown_query_parameter_is_400(client):
    assert client.post(f"{URL}?dry=true", LABEL).status_code == 400


def test_redis_away_is_503_and_changes_nothing(client, alpha, no_redis):
    task = make_task(alpha, once(labels={"team": "billing"}))
    prepare()
    release()
    no_redis()

    assert client.post(URL, LABEL).status_code == 503
    assert reload(task).status == "SCHEDULED"
    assert not Pause.objects.exists()


def test_the_same_call_again_is_one_pause(client):
    first = client.post(URL, LABEL, idempotency_key="p1")
    again = client.post(URL, LABEL, idempotency_key="p1")

    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert Pause.objects.count() == 1
    other = {**LABEL, "note": "x"}
    assert client.post(URL, other, idempotency_key="p1").status_code == 422


# --- what tasks say of it --------------------------------------------------------------------


def test_a_held_task_says_by_what_and_is_not_resumed_by_itself(client, alpha):
    task = make_task(alpha)
    made = client.post(URL, {**LABEL, "note": "Down.", "until": "2099-01-01T00:00:00Z"}).json()
    path = f"/v1/tasks/{task.id}"

    shown = client.get(path).json()

    assert (shown["status"], shown["paused_until"], shown["pause_note"]) == (
        "PAUSED",
        None,
        "Down.",
    )
    assert shown["paused_by"] == {
        "id": made["id"],
        **LABEL,
        "note": "Down.",
        "until": "2099-01-01T00:00:00.000Z",
    }
    assert client.get("/v1/tasks").json()["tasks"][0]["paused_by"] == shown["paused_by"]
    for refused in (
        client.post(f"{path}/resume"),
        client.patch(path, {"status": "SCHEDULED"}),
    ):
        assert problem(refused) == (409, "paused_by_pause")
        assert made["id"] in refused.json()["detail"]
    mine = client.post(f"{path}/pause", {"note": "mine"}).json()
    assert (mine["status"], mine["paused_by"], mine["pause_note"]) == ("PAUSED", None, "mine")


def test_a_task_that_nothing_holds_says_so(client, alpha):
    task = make_task(alpha)

    assert client.get(f"/v1/tasks/{task.id}").json()["paused_by"] is None


def test_the_answer_of_creating_a_task_says_that_it_is_paused_and_by_what(client):
    made = client.post(URL, {"scope": "destination", "value": "api.example.com"}).json()

    single = client.post("/v1/tasks", daily(), idempotency_key="1").json()
    bodies = [daily(), daily(target={**TARGET, "url": "https://other.example.com/"}), {}]
    many = client.post("/v1/tasks/bulk", {"tasks": bodies}, idempotency_key="2").json()

    assert (single["status"], single["paused_by"]["id"]) == ("PAUSED", made["id"])
    first, second, wrong = many["results"]
    assert (first["task"]["status"], first["task"]["paused_by"]["id"]) == ("PAUSED", made["id"])
    assert (second["task"]["status"], second["task"]["paused_by"]) == ("SCHEDULED", None)
    assert wrong["status"] == 400


def test_a_client_that_sends_what_holds_a_task_learns_that_it_cannot_be_set(client, alpha):
    task = make_task(alpha)

    answer = client.patch(f"/v1/tasks/{task.id}", {"paused_by": {"id": "x"}})

    assert answer.json()["errors"][0]["code"] == "read_only"
