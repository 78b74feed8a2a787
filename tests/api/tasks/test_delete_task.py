from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.loop import control
from tests.factories import (
    executions_of,
    make_task,
    once,
    prepare,
    release,
    reload,
    start,
)


@pytest.fixture
def task(alpha):
    return make_task(alpha, once())


def delete(client, task, query="", **headers):
    return client.delete(f"/v1/tasks/{task.id}{query}", **headers)


def test_a_deleted_task_is_gone_and_its_executions_stay(client, task):
    prepare()
    [execution] = executions_of(task)

    answer = delete(client, task)

    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"/v1/tasks/{task.id}").status_code == 404
    assert client.get(f"/v1/tasks/{task.id}/executions").status_code == 404
    shown = client.get(f"/v1/executions/{execution.id}").json()
    assert (shown["status"], shown["reason"]) == ("CANCELLED", "task_deleted")
    assert delete(client, task).status_code == 404


@pytest.mark.parametrize(("query", "aborted"), [("", False), ("?cancel_running=true", True)])
def test_what_runs_is_aborted_only_if_asked(client, task, monkeypatch, query, aborted):
    monkeypatch.setattr(control, "_send", lambda message: None)
    prepare()
    start(release())

    delete(client, task, query)

    [row] = executions_of(task)
    assert (row.cancel_requested_at is not None) == aborted


def test_redis_away_is_503_and_changes_nothing(client, task, no_redis):
    prepare()
    release()
    no_redis()

    assert delete(client, task).status_code == 503
    assert reload(task).deleted_at is None


def test_if_match_of_another_version_is_412(client, task):
    assert delete(client, task, if_match='"2"').status_code == 412
    assert reload(task).deleted_at is None
    assert delete(client, task, if_match='"1"').status_code == 204


@pytest.mark.parametrize("query", ["?cancel_running=yes", "?oops=1"])
def test_parameters_that_are_not_valid_are_400(client, task, query):
    assert delete(client, task, query).status_code == 400
    assert reload(task).deleted_at is None


def test_the_same_call_again_is_answered_the_same(client, task):
    assert delete(client, task, idempotency_key="d1").status_code == 204

    again = delete(client, task, idempotency_key="d1")
    assert (again.status_code, again["Idempotent-Replayed"]) == (204, "true")


def test_the_deletion_is_recorded(client, task):
    delete(client, task)

    assert AuditEntry.objects.filter(action="task.deleted", object_id=task.id).count() == 1
