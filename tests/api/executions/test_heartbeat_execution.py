from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions import transitions
from executions.loop.clocks import database_now
from shared import execution_tokens
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import (
    accepted,
    call,
    handed_out,
    let_expire,
    pass_time_since,
    reread,
    rescue,
    take_one,
    work,
)
from tests.factories import ApiClient, make_execution
from tests.support.transaction_time import transaction_now


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def beat(execution_id: Any, token: str, **body: Any) -> dict[str, Any]:
    answer = call(execution_id, "heartbeat", token, body)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_heartbeat_extends_the_lease_by_the_targets_time_out(alpha: Tenant):
    execution, token = accepted(alpha, heartbeat_timeout_seconds=120)
    let_expire(execution.id, -5)

    said = beat(execution.id, token)

    row = reread(execution)
    left = row.lease_expires_at - database_now()
    assert timedelta(seconds=100) < left <= timedelta(seconds=120)
    assert said["cancel_requested"] is False
    assert abs(moment(said["lease_expires_at"]) - row.lease_expires_at) < timedelta(milliseconds=2)
    assert (row.status, row.attempt) == ("RUNNING", 1)


def test_it_may_ask_for_longer_and_is_never_cut_short_by_it(alpha: Tenant):
    execution, token = accepted(alpha, heartbeat_timeout_seconds=60)

    beat(execution.id, token, extend_seconds=3600)
    long = reread(execution).lease_expires_at
    beat(execution.id, token, extend_seconds=1)

    assert long - database_now() > timedelta(seconds=3500)
    assert reread(execution).lease_expires_at == long


def test_no_lease_goes_beyond_the_longest_run(alpha: Tenant):
    execution, token = accepted(alpha, max_runtime_seconds=100)

    beat(execution.id, token, extend_seconds=3600)

    row = reread(execution)
    assert row.accepted_at is not None
    assert row.lease_expires_at == row.accepted_at + timedelta(seconds=100)


def test_its_progress_is_kept_and_shown(client: ApiClient, alpha: Tenant):
    execution, token = accepted(alpha)

    beat(execution.id, token, progress={"rows": 3})
    beat(execution.id, token)

    shown = client.get(f"/v1/executions/{execution.id}").json()
    assert shown["progress"] == {"rows": 3}
    assert shown["lease_expires_at"] is not None
    assert b"rows" not in bytes(reread(execution).sealed_progress)


def test_one_before_the_recorder_has_seen_the_start_counts_the_attempt_once(alpha: Tenant):
    execution, token = handed_out(alpha, heartbeat_timeout_seconds=120)

    beat(execution.id, token)
    now = database_now()
    fencing = execution.fencing_token
    assert transitions.mark_running([(execution.id, fencing, "worker-1", now)]) == []
    assert transitions.accept([(execution.id, fencing, "worker-1", now, now)]) == []

    row = reread(execution)
    assert (row.status, row.attempt) == ("RUNNING", 1)


def test_the_first_of_leased_work_begins_its_attempt(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha, lease_seconds=30)

    before = database_now()
    beat(lease.execution_id, lease.token)
    after = database_now()

    row = reread(lease.execution_id)
    assert (row.status, row.attempt, row.started_at) == ("RUNNING", 1, row.queued_at)
    lasts = timedelta(seconds=30)
    assert min(before, transaction_now()) + lasts <= row.lease_expires_at <= after + lasts


def test_a_cancel_is_told_and_bounds_the_lease(client: ApiClient, alpha: Tenant):
    execution, token = accepted(alpha)
    client.post(f"/v1/executions/{execution.id}/cancel")

    said = beat(execution.id, token, extend_seconds=3600)

    row = reread(execution)
    assert said["cancel_requested"] is True
    assert row.lease_expires_at == row.cancel_requested_at + timedelta(seconds=30)


def test_after_its_end_it_is_stale_and_changes_nothing(alpha: Tenant):
    execution, token = accepted(alpha)
    let_expire(execution.id)
    assert rescue() == 1
    before = reread(execution)

    answer = call(execution.id, "heartbeat", token, {"progress": 1})

    assert problem(answer) == (409, "stale_lease")
    assert reread(execution).sealed_progress == before.sealed_progress


def test_another_fencing_token_in_the_body_is_stale(alpha: Tenant):
    execution, token = accepted(alpha)
    other = (execution.fencing_token or 0) + 1

    assert problem(call(execution.id, "heartbeat", token, {"fencing_token": other})) == (
        409,
        "stale_lease",
    )
    beat(execution.id, token, fencing_token=execution.fencing_token)


@pytest.mark.parametrize("verb", ["heartbeat", "complete", "fail", "release"])
def test_only_the_executions_own_token_passes(client: ApiClient, alpha: Tenant, verb: str):
    execution, token = accepted(alpha)
    other, foreign = accepted(alpha)
    path = f"/v1/executions/{execution.id}/{verb}"
    body = {"error": "no"} if verb == "fail" else {}

    assert problem(client.post(path, body)) == (401, "not_authenticated")
    for wrong in (foreign, token + "x", "1.x", "", "é", "x" * 300):
        assert problem(call(execution.id, verb, wrong, body)) == (401, "not_authenticated")
    # Whether there is such an execution is told to nobody who holds no token of it.
    assert problem(call(uuid4(), verb, token, body)) == (401, "not_authenticated")
    assert reread(execution).status == reread(other).status == "RUNNING"


def test_one_of_an_execution_that_is_gone_is_409(db: None):
    gone = uuid4()

    answer = call(gone, "heartbeat", execution_tokens.make(str(gone), 1))

    assert problem(answer) == (409, "stale_lease")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"extend_seconds": 0}, "#/extend_seconds"),
        ({"extend_seconds": 86_401}, "#/extend_seconds"),
        ({"extend_seconds": 1.5}, "#/extend_seconds"),
        ({"fencing_token": "1"}, "#/fencing_token"),
        ({"state": 1}, "#/state"),
    ],
)
def test_wrong_bodies_are_400(alpha: Tenant, body: Any, pointer: str):
    execution, token = accepted(alpha)

    answer = call(execution.id, "heartbeat", token, body)

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_too_much_progress_is_413(alpha: Tenant):
    execution, token = accepted(alpha)

    assert problem(call(execution.id, "heartbeat", token, {"progress": "x" * 20_000})) == (
        413,
        "too_large",
    )


def test_one_of_a_plain_webhook_is_none_of_its_business(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")
    forged = execution_tokens.make(str(execution.id), (execution.fencing_token or 0) + 1)

    assert problem(call(execution.id, "heartbeat", forged)) == (409, "stale_lease")


def test_an_old_acceptance_does_not_shorten_the_next_attempt(alpha: Tenant):
    execution, token = accepted(alpha, max_runtime_seconds=100)
    pass_time_since(execution.id, "accepted_at", 90)

    call(execution.id, "fail", token, {"error": "no", "retry_delay_seconds": 0})

    assert reread(execution).accepted_at is None
