"""Work that went on without a worker of ours, once its holder fell silent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.models import Attempt, DeadLetter, Execution
from tenants.models import Tenant
from tests.executions.leasing import (
    accepted,
    call,
    handed_out,
    let_expire,
    pass_time_since,
    reread,
    rescue,
    take,
    take_one,
    work,
)
from tests.factories import ApiClient

AT_ONCE: dict[str, Any] = {"backoff": "fixed", "initial_delay_seconds": 0}


def last_attempt(execution: Execution) -> Attempt:
    return Attempt.objects.filter(execution_id=execution.pk).latest("number")


def test_a_silent_receiver_has_timed_out_and_is_called_again(alpha: Tenant):
    execution, _ = accepted(alpha)
    let_expire(execution.id)

    assert rescue() == 1

    row = reread(execution)
    attempt = last_attempt(row)
    assert (row.status, row.lost_count, row.accepted_at) == ("RETRYING", 0, None)
    assert (attempt.number, attempt.outcome, attempt.error_code) == (
        1,
        "TIMED_OUT",
        "heartbeat_lost",
    )
    assert "heartbeat" in attempt.error_message


def test_while_its_lease_holds_its_worker_may_be_gone(alpha: Tenant):
    execution, _ = accepted(alpha)

    assert rescue() == 0
    assert reread(execution).status == "RUNNING"


def test_a_policy_that_retries_no_time_out_fails_it(alpha: Tenant):
    execution, _ = accepted(alpha)
    Execution.objects.get(pk=execution.pk).task.revisions.update(
        definition=_with_policy(execution, retry_on=["5xx"])
    )
    let_expire(execution.id)

    rescue()

    assert (reread(execution).status, reread(execution).reason) == ("FAILED", "not_retryable")
    assert DeadLetter.objects.get().error_signature == "heartbeat_lost"


def test_a_job_beyond_its_longest_run_has_timed_out_and_says_so(alpha: Tenant):
    execution, _ = accepted(alpha, max_runtime_seconds=50)
    pass_time_since(execution.id, "accepted_at", 51)
    let_expire(execution.id)

    rescue()

    attempt = last_attempt(execution)
    assert (attempt.outcome, attempt.error_code) == ("TIMED_OUT", "heartbeat_lost")
    assert "max_runtime_seconds" in attempt.error_message


def test_a_worker_that_has_begun_and_is_silent_is_lost_and_counted(alpha: Tenant):
    work(alpha, retry_policy=AT_ONCE)
    for lost in (1, 2):
        lease = take_one(alpha)
        call(lease.execution_id, "heartbeat", lease.token)
        let_expire(lease.execution_id)
        assert rescue() == 1
        row = reread(lease.execution_id)
        assert (row.status, row.lost_count, row.attempt) == ("RETRYING", lost, lost)
        assert last_attempt(row).outcome == "WORKER_LOST"

    lease = take_one(alpha)
    call(lease.execution_id, "heartbeat", lease.token)
    let_expire(lease.execution_id)
    rescue()

    row = reread(lease.execution_id)
    assert (row.status, row.reason, row.lost_count) == ("FAILED", "poisoned", 3)


def test_one_that_never_began_costs_an_attempt_and_says_nothing_of_the_work(alpha: Tenant):
    work(alpha, retry_policy={**AT_ONCE, "max_attempts": 4})
    for number in (1, 2, 3):
        lease = take_one(alpha)
        let_expire(lease.execution_id)
        assert rescue() == 1
        row = reread(lease.execution_id)
        assert (row.status, row.attempt, row.lost_count) == ("RETRYING", number, 0)
        assert last_attempt(row).outcome == "WORKER_LOST"

    lease = take_one(alpha)
    let_expire(lease.execution_id)
    rescue()

    assert (reread(lease.execution_id).status, reread(lease.execution_id).reason) == (
        "FAILED",
        "attempts_exhausted",
    )


def test_a_leasing_worker_beyond_the_longest_run_has_timed_out(alpha: Tenant):
    work(alpha, target={"max_runtime_seconds": 50})
    lease = take_one(alpha)
    call(lease.execution_id, "heartbeat", lease.token)
    pass_time_since(lease.execution_id, "accepted_at", 51)
    let_expire(lease.execution_id)

    rescue()

    row = reread(lease.execution_id)
    assert (last_attempt(row).outcome, row.lost_count) == ("TIMED_OUT", 0)


@pytest.mark.parametrize("begun", [True, False])
def test_what_outlives_the_grace_of_its_cancel_is_cancelled(
    client: ApiClient, alpha: Tenant, begun: bool
):
    work(alpha)
    lease = take_one(alpha)
    if begun:
        call(lease.execution_id, "heartbeat", lease.token)
    answer = client.post(f"/v1/executions/{lease.execution_id}/cancel").json()
    row = reread(lease.execution_id)

    assert (answer["status"], answer["reason"]) == ("RUNNING", "cancel_requested")
    assert row.lease_expires_at <= row.cancel_requested_at + timedelta(seconds=30)
    let_expire(row.id)
    assert rescue() == 1
    assert reread(row).status == "CANCELLED"
    assert (last_attempt(row).outcome, reread(row).lost_count) == ("CANCELLED", 0)


def test_a_worker_of_ours_that_is_lost_before_the_202_is_rescued_as_ever(alpha: Tenant):
    execution, token = handed_out(alpha)

    let_expire(execution.id)
    rescue()

    # The guard says that it has started: it counts as running, with its worker.
    assert reread(execution).status == "RUNNING"
    assert reread(execution).accepted_at is None
    assert call(execution.id, "complete", token).status_code == 200


def test_leases_that_hold_are_left_alone(alpha: Tenant):
    work(alpha, 2)
    take(alpha)

    assert rescue() == 0


def _with_policy(execution: Execution, **policy: Any) -> dict[str, Any]:
    definition = execution.task.revisions.get().definition
    return {**definition, "retry_policy": {**definition["retry_policy"], **policy}}
