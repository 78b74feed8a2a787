from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.models import Attempt, DeadLetter
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import accepted, call, let_expire, reread, rescue, take_one, work
from tests.factories import ApiClient
from tests.support.transaction_time import transaction_now

FIXED = {"backoff": "fixed", "initial_delay_seconds": 50, "jitter": "none"}


def test_a_failure_is_tried_again_by_the_policy(client: ApiClient, alpha: Tenant):
    work(alpha, retry_policy=FIXED)
    lease = take_one(alpha)

    answer = call(lease.execution_id, "fail", lease.token, {"error": "disk full"})

    assert (answer.status_code, answer.json()["status"]) == (200, "RETRYING")
    row = reread(lease.execution_id)
    assert timedelta(seconds=40) < row.due_at - transaction_now() <= timedelta(seconds=50)
    shown = client.get(f"/v1/executions/{row.id}").json()
    assert shown["error"] == {"code": "handler_error", "message": "disk full"}
    assert [one["outcome"] for one in shown["attempts"]] == ["FAILED"]


def test_the_holder_may_say_when(alpha: Tenant):
    execution, token = accepted(alpha)

    call(execution.id, "fail", token, {"error": "later", "retry_delay_seconds": 600})

    assert reread(execution).due_at - transaction_now() >= timedelta(seconds=600)


def test_a_failure_that_is_not_to_be_tried_again_goes_to_the_dead_letters(alpha: Tenant):
    execution, token = accepted(alpha)

    answer = call(execution.id, "fail", token, {"error": "bad input", "retry": False})

    assert answer.json()["status"] == "FAILED"
    letter = DeadLetter.objects.get(execution_id=execution.id)
    assert (letter.error_signature, letter.error_message) == ("handler_error", "bad input")
    assert reread(execution).reason == "not_retryable"


def test_after_the_last_attempt_it_failed(alpha: Tenant):
    work(alpha, retry_policy={"max_attempts": 1})
    lease = take_one(alpha)

    assert call(lease.execution_id, "fail", lease.token, {"error": "no"}).json()["status"] == (
        "FAILED"
    )
    assert reread(lease.execution_id).reason == "attempts_exhausted"


def test_what_was_to_be_cancelled_is_cancelled(client: ApiClient, alpha: Tenant):
    execution, token = accepted(alpha)
    client.post(f"/v1/executions/{execution.id}/cancel")

    answer = call(execution.id, "fail", token, {"error": "stopped"})

    assert answer.json()["status"] == reread(execution).status == "CANCELLED"
    assert Attempt.objects.get(execution_id=execution.id).outcome == "CANCELLED"
    assert not DeadLetter.objects.exists()


def test_the_same_token_again_gets_the_same_answer_also_once_another_has_the_work(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    body = {"error": "no", "retry_delay_seconds": 0}
    first = call(lease.execution_id, "fail", lease.token, body)

    second = call(lease.execution_id, "fail", lease.token, body)
    other = take_one(alpha, worker="w-2")
    third = call(lease.execution_id, "fail", lease.token, body)

    assert first.content == second.content == third.content
    assert reread(other.execution_id).status == "QUEUED"
    assert Attempt.objects.filter(execution_id=lease.execution_id).count() == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"error": "no"}, {"error": "yes"}),
        ({"error": "no"}, {"error": "no", "retry": False}),
        ({"error": "no", "retry": False}, {"error": "no"}),
        ({"error": "no", "retry": False}, {"error": "other", "retry": False}),
    ],
)
def test_another_error_than_the_recorded_one_is_refused(alpha: Tenant, first: Any, second: Any):
    execution, token = accepted(alpha)
    answered = call(execution.id, "fail", token, first)
    before = reread(execution)

    refused = call(execution.id, "fail", token, second)

    assert problem(refused) == (409, "stale_lease")
    assert "the first one stays" in refused.json()["detail"]
    after = reread(execution)
    assert (after.status, after.error_message) == (before.status, before.error_message)
    assert call(execution.id, "fail", token, first).content == answered.content


@pytest.mark.parametrize("retry", [True, False])
def test_after_the_last_attempt_what_was_wanted_is_known(alpha: Tenant, retry: bool):
    work(alpha, retry_policy={"max_attempts": 1})
    lease = take_one(alpha)
    first = call(lease.execution_id, "fail", lease.token, {"error": "no", "retry": retry})

    again = call(lease.execution_id, "fail", lease.token, {"error": "no", "retry": retry})
    other = call(lease.execution_id, "fail", lease.token, {"error": "no", "retry": not retry})

    assert again.content == first.content
    assert problem(other) == (409, "stale_lease")


def test_once_another_has_the_work_a_retry_was_wanted(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "fail", lease.token, {"error": "no", "retry_delay_seconds": 0})
    take_one(alpha, worker="w-2")

    unwanted = call(lease.execution_id, "fail", lease.token, {"error": "no", "retry": False})

    assert problem(unwanted) == (409, "stale_lease")


def test_of_what_was_cancelled_the_same_error_gets_the_same_answer(
    client: ApiClient, alpha: Tenant
):
    execution, token = accepted(alpha)
    client.post(f"/v1/executions/{execution.id}/cancel")
    first = call(execution.id, "fail", token, {"error": "stopped"})

    assert call(execution.id, "fail", token, {"error": "stopped"}).content == first.content
    assert problem(call(execution.id, "fail", token, {"error": "x"})) == (409, "stale_lease")


@pytest.mark.parametrize("verb", ["heartbeat", "complete", "release"])
def test_after_it_every_other_word_of_the_token_is_stale(alpha: Tenant, verb: str):
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "fail", lease.token, {"error": "no", "retry": False})

    assert problem(call(lease.execution_id, verb, lease.token)) == (409, "stale_lease")
    assert reread(lease.execution_id).status == "FAILED"


def test_after_success_or_expiry_it_is_stale(alpha: Tenant):
    done, token = accepted(alpha)
    call(done.id, "complete", token)
    late, late_token = accepted(alpha)
    let_expire(late.id)
    rescue()

    assert problem(call(done.id, "fail", token, {"error": "x"})) == (409, "stale_lease")
    assert problem(call(late.id, "fail", late_token, {"error": "x"})) == (409, "stale_lease")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/error"),
        ({"error": ""}, "#/error"),
        ({"error": 1}, "#/error"),
        ({"error": "x" * 1001}, "#/error"),
        ({"error": "x", "retry": 1}, "#/retry"),
        ({"error": "x", "retry_delay_seconds": -1}, "#/retry_delay_seconds"),
        ({"error": "x", "retry_delay_seconds": 90_000}, "#/retry_delay_seconds"),
        ({"error": "x", "reason": "x"}, "#/reason"),
    ],
)
def test_wrong_bodies_are_400(alpha: Tenant, body: Any, pointer: str):
    execution, token = accepted(alpha)

    answer = call(execution.id, "fail", token, body)

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert reread(execution).status == "RUNNING"
