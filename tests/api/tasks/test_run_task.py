from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.changes import changing
from executions.models import Execution
from executions.payloads import payload_of
from shared.conf import conf
from tests.factories import ACTOR, executions_of, make_task, release


@pytest.fixture
def task(alpha):
    return make_task(alpha)


def run(client, task, body=None, key="r1", **headers):
    return client.post(f"/v1/tasks/{task.id}/run", body, idempotency_key=key, **headers)


@pytest.mark.parametrize("body", [None, {}])
def test_a_task_runs_now(client, task, body):
    answer = run(client, task, body)

    assert answer.status_code == 202
    shown = answer.json()
    assert answer["Location"] == f"/v1/executions/{shown['id']}"
    assert (shown["status"], shown["trigger"]) == ("PENDING", "manual")
    assert (shown["task_id"], shown["task_name"]) == (str(task.id), "Daily report")
    assert [str(row.id) for row in release()] == [shown["id"]]
    assert client.get(answer["Location"]).json()["id"] == shown["id"]


@pytest.mark.parametrize("payload", [{"n": 2}, None, 5, "text", []])
def test_a_given_payload_is_sent_instead(client, task, payload):
    shown = run(client, task, {"payload": payload}).json()

    assert payload_of(Execution.objects.get(pk=shown["id"])) == payload


def test_a_paused_task_runs_when_asked(client, task):
    client.post(f"/v1/tasks/{task.id}/pause")

    assert run(client, task).status_code == 202
    assert len(release()) == 1


def test_a_payload_over_the_limit_is_413(client, task):
    answer = run(client, task, {"payload": "x" * conf().payload_bytes})

    assert answer.status_code == 413
    assert executions_of(task) == []


@pytest.mark.parametrize("body", [{"oops": 1}, [], {"payloads": {}}])
def test_what_is_not_valid_is_refused_and_nothing_runs(client, task, body):
    assert run(client, task, body).status_code == 400
    assert executions_of(task) == []


def test_a_deleted_task_is_404(client, alpha, task):
    changing.delete_task(alpha.id, task.id, actor=ACTOR)
    assert run(client, task).status_code == 404
    assert executions_of(task) == []


def test_the_same_call_again_is_one_run(client, task):
    first = run(client, task)
    second = run(client, task)

    assert (second.status_code, second.content) == (202, first.content)
    assert second["Location"] == first["Location"]
    assert len(executions_of(task)) == 1
    assert run(client, task, {"payload": 1}).status_code == 422


def test_a_call_without_a_key_is_400(client, task):
    assert client.post(f"/v1/tasks/{task.id}/run").status_code == 400
    assert executions_of(task) == []


def test_the_run_is_recorded(client, task):
    run(client, task)

    assert AuditEntry.objects.filter(action="task.run", object_id=task.id).count() == 1
