from __future__ import annotations

from typing import Any
from uuid import uuid4

import orjson
import pytest
import redis

from executions.changes.cancellation import cancel_execution
from executions.models import Attempt, DeadLetter, Execution
from shared.exceptions import Conflict, NotFound, Unavailable
from shared.redis_client import CONTROL_CHANNEL, client
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import audited, was_audited
from tests.factories import (
    ACTOR,
    WORKER,
    finish,
    make_execution,
    pass_guard,
    prepare,
    release,
    start,
)
from wire import start_guard

pytestmark = pytest.mark.django_db


def cancel(execution: Execution) -> Execution:
    return cancel_execution(execution.tenant_id, execution.id, actor=ACTOR)


@pytest.mark.parametrize("status", ["PENDING", "RETRYING", "QUEUED"])
def test_what_has_not_started_never_starts(alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    found = cancel(execution)

    assert (found.status, found.reason) == ("CANCELLED", "cancelled")
    assert found.finished_at is not None
    prepare()
    assert release(window_seconds=3600.0) == []
    assert audited(execution.id, "execution.cancelled")["actor"] == ACTOR.name


def test_released_work_is_voided_so_that_its_worker_cannot_start_it(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()

    cancel(Execution.objects.get(pk=row.id))

    assert pass_guard([row]) == [0]


def test_released_work_that_a_worker_has_just_started_is_aborted(alpha: Tenant, on_commit: Any):
    make_execution(alpha)
    (row,) = release()
    assert pass_guard([row]) == [1]
    heard = client().pubsub()
    heard.subscribe(CONTROL_CHANNEL)
    assert heard.get_message(timeout=5)["type"] == "subscribe"

    with on_commit(execute=True):
        found = cancel(Execution.objects.get(pk=row.id))

    assert (found.status, found.worker, found.attempt) == ("RUNNING", WORKER, 1)
    assert found.cancel_requested_at is not None
    message = heard.get_message(timeout=5)
    assert orjson.loads(message["data"]) == {"cancel": [row.token]}
    heard.close()


def test_a_running_execution_ends_when_its_worker_says_so(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()
    start([row])

    assert cancel(Execution.objects.get(pk=row.id)).status == "RUNNING"
    finish(row, "CANCELLED", reason="cancelled")

    found = Execution.objects.get(pk=row.id)
    assert (found.status, found.reason) == ("CANCELLED", "cancelled")
    assert Attempt.objects.get(execution_id=row.id).outcome == "CANCELLED"
    assert not DeadLetter.objects.exists()


def test_a_running_execution_that_succeeds_first_has_succeeded(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()
    start([row])

    cancel(Execution.objects.get(pk=row.id))
    finish(row)

    assert Execution.objects.get(pk=row.id).status == "SUCCEEDED"


def test_a_worker_that_cannot_be_told_is_no_error(
    alpha: Tenant, on_commit: Any, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "RUNNING")
    monkeypatch.setattr("executions.loop.control.client", away)

    with on_commit(execute=True):
        found = cancel(execution)

    # The mark stays, and rescue ends the execution with its lease.
    assert found.cancel_requested_at is not None


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_finished_execution_cannot_be_cancelled(alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    with pytest.raises(Conflict) as caught:
        cancel(execution)

    assert caught.value.code == "already_final"
    assert not was_audited("execution.cancelled")


def test_released_work_stays_as_it_is_while_redis_is_away(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "QUEUED")
    monkeypatch.setattr(start_guard, "client", away)

    with pytest.raises(Unavailable):
        cancel(execution)

    assert Execution.objects.get(pk=execution.id).status == "QUEUED"
    assert not was_audited("execution.cancelled")


def test_work_that_no_worker_has_is_cancelled_while_redis_is_away(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha)
    monkeypatch.setattr(start_guard, "client", away)

    assert cancel(execution).status == "CANCELLED"


def test_a_one_time_task_is_cancelled_with_its_execution(alpha: Tenant):
    execution = make_execution(alpha)

    cancel(execution)

    assert Task.objects.get(pk=execution.task_id).status == "CANCELLED"


def test_another_tenants_execution_is_not_found(alpha: Tenant, beta: Tenant):
    execution = make_execution(alpha)

    with pytest.raises(NotFound):
        cancel_execution(beta.id, execution.id, actor=ACTOR)
    with pytest.raises(NotFound):
        cancel_execution(alpha.id, uuid4(), actor=ACTOR)


def away() -> None:
    raise redis.ConnectionError("Redis is away.")
