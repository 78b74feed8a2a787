from __future__ import annotations

from executions.models import Attempt
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import accepted, call, handed_out, reread, take_one, work


def test_leased_work_goes_back_without_an_attempt(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)

    answer = call(lease.execution_id, "release", lease.token)

    assert (answer.status_code, answer.json()) == (
        200,
        {"id": str(lease.execution_id), "status": "PENDING", "attempt": 0},
    )
    assert not Attempt.objects.exists()
    again = take_one(alpha, worker="w-2")
    assert (again.execution_id, again.attempt) == (lease.execution_id, 1)


def test_the_same_token_again_gets_the_same_answer(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    first = call(lease.execution_id, "release", lease.token)

    second = call(lease.execution_id, "release", lease.token)

    assert (second.status_code, second.content) == (200, first.content)


def test_once_another_has_it_the_first_token_is_stale(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "release", lease.token)
    other = take_one(alpha, worker="w-2")

    for verb in ("release", "heartbeat", "complete"):
        assert problem(call(lease.execution_id, verb, lease.token)) == (409, "stale_lease")
    row = reread(other.execution_id)
    assert (row.status, row.fencing_token) == ("QUEUED", other.fencing_token)


def test_what_has_begun_is_not_released(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "heartbeat", lease.token)

    assert problem(call(lease.execution_id, "release", lease.token)) == (409, "already_started")
    assert reread(lease.execution_id).status == "RUNNING"


def test_a_receiver_has_begun_with_the_request(alpha: Tenant):
    for execution, token in (handed_out(alpha), accepted(alpha)):
        assert problem(call(execution.id, "release", token)) == (409, "already_started")
        assert reread(execution).status == execution.status


def test_unknown_fields_are_400(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)

    assert problem(call(lease.execution_id, "release", lease.token, {"why": "x"})) == (
        400,
        "invalid",
    )
