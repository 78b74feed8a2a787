from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.factories import (
    executions_of,
    make_execution,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)


@pytest.fixture
def task(alpha):
    task = make_task(alpha, once())
    prepare()
    return task


def cancel(client, task, body=None, **headers):
    return client.post(f"/v1/tasks/{task.id}/cancel", body, **headers)


def test_a_cancelled_task_has_no_future(client, task):
    handed = release()

    answer = cancel(client, task)

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["status"], shown["next_execution"]) == ("CANCELLED", None)
    assert shown["last_execution"]["status"] == "CANCELLED"
    assert [row.status for row in executions_of(task)] == ["CANCELLED"]
    assert pass_guard(handed) == [0]


def test_cancelling_twice_is_cancelling_once(client, task):
    cancel(client, task)

    assert cancel(client, task).status_code == 200
    assert AuditEntry.objects.filter(action="task.cancelled").count() == 1


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED"])
def test_a_task_that_has_ended_is_409(client, alpha, status):
    execution = make_execution(alpha, status)

    assert cancel(client, execution.task).status_code == 409


def test_redis_away_is_503_and_changes_nothing(client, task, no_redis):
    release()
    no_redis()

    assert cancel(client, task).status_code == 503
    assert reload(task).status == "SCHEDULED"
    assert [row.status for row in executions_of(task)] == ["QUEUED"]


def test_fields_are_refused(client, task):
    assert cancel(client, task, {"oops": 1}).status_code == 400


def test_the_same_call_again_is_answered_the_same(client, task):
    first = cancel(client, task, idempotency_key="c1")
    second = cancel(client, task, idempotency_key="c1")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
