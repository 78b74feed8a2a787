from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from executions import broker, celery_tasks
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution
from shared import execution_tokens
from shared.ids import execution_id
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import (
    accepted,
    call,
    handed_out,
    let_expire,
    reread,
    rescue,
    take_one,
    work,
)
from tests.factories import ApiClient, reload


def test_an_accepted_job_ends_with_its_result(client: ApiClient, alpha: Tenant):
    execution, token = accepted(alpha)

    answer = call(execution.id, "complete", token, {"result": {"invoices": 12}})

    assert (answer.status_code, answer.json()) == (
        200,
        {"id": str(execution.id), "status": "SUCCEEDED", "attempt": 1},
    )
    shown = client.get(f"/v1/executions/{execution.id}").json()
    assert (shown["status"], shown["result"]) == ("SUCCEEDED", {"invoices": 12})
    assert shown["lease_expires_at"] is None
    [attempt] = shown["attempts"]
    assert (attempt["number"], attempt["outcome"], attempt["error"]) == (1, "SUCCEEDED", None)
    assert b"invoices" not in bytes(reread(execution).sealed_result)


@pytest.mark.parametrize("begun", [True, False])
def test_leased_work_ends_whether_or_not_it_sent_a_heartbeat(alpha: Tenant, begun: bool):
    [task] = work(alpha)
    lease = take_one(alpha)
    if begun:
        call(lease.execution_id, "heartbeat", lease.token)

    assert call(lease.execution_id, "complete", lease.token).status_code == 200

    row = reread(lease.execution_id)
    assert (row.status, row.attempt, row.worker) == ("SUCCEEDED", 1, "w-1")
    assert row.started_at == Attempt.objects.get(execution_id=row.id).started_at
    assert reload(task).status == "COMPLETED"


def test_one_before_the_recorder_has_seen_the_start_ends_it(alpha: Tenant):
    execution, token = handed_out(alpha)

    assert call(execution.id, "complete", token).status_code == 200

    row = reread(execution)
    assert (row.status, row.attempt) == ("SUCCEEDED", 1)


@pytest.mark.parametrize(
    ("result", "again"),
    [
        ({}, {}),
        ({}, {"result": None}),
        ({"result": 1}, {"result": 1}),
        ({"result": {"a": [1, "x"], "b": None}}, {"result": {"b": None, "a": [1, "x"]}}),
    ],
)
def test_the_same_token_and_result_again_get_the_same_answer(
    alpha: Tenant, result: object, again: object
):
    execution, token = accepted(alpha)
    first = call(execution.id, "complete", token, result)

    second = call(execution.id, "complete", token, again)

    assert (second.status_code, second.content) == (200, first.content)
    assert Attempt.objects.filter(execution_id=execution.id).count() == 1


@pytest.mark.parametrize("first", [{}, {"result": None}, {"result": 1}, {"result": {"a": 1}}])
@pytest.mark.parametrize("second", [{"result": 2}, {"result": {"a": "1"}}, {"result": False}])
def test_another_result_than_the_recorded_one_is_refused(
    client: ApiClient, alpha: Tenant, first: object, second: object
):
    execution, token = accepted(alpha)
    call(execution.id, "complete", token, first)
    before = bytes(reread(execution).sealed_result or b"")

    answer = call(execution.id, "complete", token, second)

    assert problem(answer) == (409, "stale_lease")
    assert "another result: the first one stays" in answer.json()["detail"]
    assert bytes(reread(execution).sealed_result or b"") == before


def test_leaving_the_result_out_is_another_result(alpha: Tenant):
    execution, token = accepted(alpha)
    call(execution.id, "complete", token, {"result": 1})

    assert problem(call(execution.id, "complete", token)) == (409, "stale_lease")


def test_a_result_that_no_key_opens_is_not_taken_for_the_same(alpha: Tenant):
    execution, token = accepted(alpha)
    call(execution.id, "complete", token, {"result": 1})
    Execution.objects.filter(pk=execution.id).update(sealed_result=b"altered")

    answer = call(execution.id, "complete", token, {"result": 1})

    assert problem(answer) == (409, "decryption_failed")


@pytest.mark.parametrize("verb", ["heartbeat", "fail", "release"])
def test_after_it_every_other_word_of_the_token_is_stale(alpha: Tenant, verb: str):
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "complete", lease.token, {"result": 1})

    answer = call(lease.execution_id, verb, lease.token, {"error": "no"} if verb == "fail" else {})

    assert problem(answer) == (409, "stale_lease")
    assert reread(lease.execution_id).status == "SUCCEEDED"


def test_after_a_failure_it_is_stale(alpha: Tenant):
    execution, token = accepted(alpha)
    call(execution.id, "fail", token, {"error": "no"})

    assert problem(call(execution.id, "complete", token)) == (409, "stale_lease")
    assert reread(execution).status == "RETRYING"


def test_after_the_lease_has_ended_it_is_stale(alpha: Tenant):
    execution, token = accepted(alpha)
    let_expire(execution.id)
    rescue()

    assert problem(call(execution.id, "complete", token)) == (409, "stale_lease")
    assert reread(execution).status == "RETRYING"


def test_it_succeeds_also_when_it_was_to_be_cancelled(client: ApiClient, alpha: Tenant):
    execution, token = accepted(alpha)
    client.post(f"/v1/executions/{execution.id}/cancel")

    assert call(execution.id, "complete", token).json()["status"] == "SUCCEEDED"
    assert not DeadLetter.objects.exists()


def test_one_of_an_execution_that_is_gone_is_404(db: None):
    gone = uuid4()

    answer = call(gone, "complete", execution_tokens.make(str(gone), 1))

    assert problem(answer) == (404, "not_found")


def test_too_large_a_result_is_413(alpha: Tenant):
    execution, token = accepted(alpha)

    answer = call(execution.id, "complete", token, {"result": "x" * 70_000})

    assert problem(answer) == (413, "too_large")
    assert reread(execution).status == "RUNNING"


@pytest.mark.parametrize("body", [{"outcome": 1}, {"fencing_token": None}, [], b"{"])
def test_wrong_bodies_are_400(alpha: Tenant, body: object):
    execution, token = accepted(alpha)

    assert problem(call(execution.id, "complete", token, body))[0] == 400
    assert reread(execution).status == "RUNNING"


def test_a_job_whose_day_has_left_ends_once_the_system_worker_has_made_it(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    execution, _ = accepted(alpha)
    old = database_now() - timedelta(days=400)
    moved = execution_id(execution.task_id, old)
    Execution.objects.filter(id=execution.id).update(id=moved)
    token = execution_tokens.make(str(moved), reread(moved).fencing_token)
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(broker, "publish_system_job", lambda *job: asked.append(job))

    early = call(moved, "complete", token)
    assert (early.status_code, early["Retry-After"]) == (503, "1")
    assert asked == [("executions.make_days", f"{old:%Y%m%d}")]
    assert reread(moved).status == "RUNNING"

    celery_tasks.make_days(asked[0][1])

    assert call(moved, "complete", token).status_code == 200
    assert reread(moved).status == "SUCCEEDED"
