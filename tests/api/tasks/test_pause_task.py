from __future__ import annotations

from datetime import timedelta

import pytest

from events.models import AuditEntry
from executions.loop.clocks import database_now
from tests.factories import (
    every_second,
    executions_of,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.cursors import change_task


@pytest.fixture
def task(alpha):
    return make_task(alpha)


def pause(client, task, body=None, **headers):
    return client.post(f"/v1/tasks/{task.id}/pause", body, **headers)


@pytest.mark.parametrize("body", [None, {}, {"until": None, "note": ""}])
def test_a_task_is_paused_until_it_is_resumed(client, task, body):
    answer = pause(client, task, body)

    assert answer.status_code == 200
    assert answer["ETag"] == '"1"'
    shown = answer.json()
    assert (shown["status"], shown["paused_until"], shown["pause_note"]) == ("PAUSED", None, "")


def test_a_pause_takes_an_end_a_note_and_what_resuming_does(client, task):
    body = {"until": "2099-01-01T00:00:00+01:00", "note": "Maintenance", "on_resume": "replay"}

    shown = pause(client, task, body).json()

    assert shown["paused_until"] == "2098-12-31T23:00:00.000Z"
    assert shown["pause_note"] == "Maintenance"
    assert reload(task).on_resume == "replay"


def test_work_handed_to_a_worker_does_not_start(client, alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    assert pause(client, task).status_code == 200

    assert pass_guard(handed) == [0]
    assert [(row.status, row.held) for row in executions_of(task)] == [("PENDING", True)]


def test_redis_away_is_503_and_changes_nothing(client, alpha, no_redis):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    assert pause(client, task).status_code == 503
    assert reload(task).status == "SCHEDULED"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"until": "2020-01-01T00:00:00Z"}, "#/until"),
        ({"until": "2099-01-01"}, "#/until"),
        ({"until": 5}, "#/until"),
        ({"note": None}, "#/note"),
        ({"note": "x" * 1001}, "#/note"),
        ({"on_resume": "later"}, "#/on_resume"),
        ({"unti": None}, "#/unti"),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, task, body, pointer):
    answer = pause(client, task, body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert reload(task).status == "SCHEDULED"


def test_a_task_that_has_ended_is_409(client, task):
    client.post(f"/v1/tasks/{task.id}/cancel")

    assert pause(client, task).status_code == 409


def test_the_same_call_again_is_one_pause(client, task):
    first = pause(client, task, {"note": "a"}, idempotency_key="p1")
    second = pause(client, task, {"note": "a"}, idempotency_key="p1")

    assert second.content == first.content
    assert AuditEntry.objects.filter(action="task.paused").count() == 1
    assert pause(client, task, {"note": "b"}, idempotency_key="p1").status_code == 422


def test_a_paused_task_has_no_next_execution_at_any_door(client, alpha, task):
    at_once = make_task(alpha, every_second(name="Each second"))
    prepare()
    for one in (task, at_once):
        change_task(one.pk, next_run_at=database_now() - timedelta(hours=1))
        shown = pause(client, one).json()
        assert (shown["next_execution"], shown["next_execution_local"]) == (None, None)
        assert client.get(f"/v1/tasks/{one.id}").json()["next_execution"] is None

    listed = client.get("/v1/tasks").json()["tasks"]
    said = read_document("tasks-list", call("tasks", "list", "--json").out)["tasks"]
    shown = read_document("tasks-show", call("tasks", "show", str(task.id), "--json").out)

    assert [one["next_execution"] for one in (*listed, *said, shown)] == [None] * 5
    assert client.post(f"/v1/tasks/{task.id}/resume").json()["next_execution"] is not None


def test_a_task_under_a_standing_pause_has_no_next_execution(client, task):
    made = client.post("/v1/pauses", {"scope": "tenant"})
    assert made.status_code == 201, made.json()

    shown = client.get(f"/v1/tasks/{task.id}").json()

    assert (shown["status"], shown["next_execution"]) == ("PAUSED", None)
