"""Workers outside, their leases' ends, cancels and pauses at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from executions.changes.cancellation import cancel_execution
from executions.external import callbacks
from executions.external.callbacks import Failure
from executions.external.pools import change_pool
from executions.models import Attempt
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.executions.leasing import (
    POOL,
    accepted,
    let_expire,
    reread,
    rescue,
    take,
    take_one,
    work,
)
from tests.factories import ACTOR

Beside = Callable[[Callable[[], Any]], Any]


def complete(found: Any) -> str:
    return callbacks.complete(found.execution_id, found.fencing_token).status


def test_two_workers_never_lease_the_same_work(alpha: Tenant, beside: Beside):
    work(alpha, 10)

    with transaction.atomic():
        mine = take(alpha, 4)
        # The other one skips what is locked and does not wait.
        others = beside(lambda: take(alpha, 10, worker="w-2")).join()

    assert (len(mine), len(others)) == (4, 6)
    assert not {one.execution_id for one in mine} & {one.execution_id for one in others}


def test_two_workers_together_stay_within_the_pools_limit(alpha: Tenant, beside: Beside):
    work(alpha, 10)
    change_pool(alpha.id, POOL, {"max_in_flight": 3}, actor=ACTOR)

    with transaction.atomic():
        mine = take(alpha, 2)
        other = beside(lambda: take(alpha, 10, worker="w-2"))
        assert other.waits_for_a_lock()

    assert (len(mine), len(other.join())) == (2, 1)


def test_from_the_answer_of_a_pause_on_nothing_is_leased(alpha: Tenant, beside: Beside):
    work(alpha)

    with transaction.atomic():
        change_pool(alpha.id, POOL, {"paused": True}, actor=ACTOR)
        other = beside(lambda: take(alpha))
        assert other.waits_for_a_lock()

    assert other.join() == []


def test_a_first_lease_of_two_workers_makes_one_pool(alpha: Tenant, beside: Beside):
    with transaction.atomic():
        assert take(alpha, pool="new") == []
        other = beside(lambda: take(alpha, pool="new", worker="w-2"))
        assert other.waits_for_a_lock()

    assert other.join() == []


def test_a_completion_before_the_end_of_its_lease_is_noticed_wins(alpha: Tenant, beside: Beside):
    work(alpha)
    found = take_one(alpha)
    let_expire(found.execution_id)

    with transaction.atomic():
        assert complete(found) == "SUCCEEDED"
        # Locked: the rescue passes it over, and finds it ended afterwards.
        assert beside(rescue).join() == 0

    assert rescue() == 0
    assert reread(found.execution_id).status == "SUCCEEDED"


def test_a_completion_while_its_lease_is_ended_is_stale(alpha: Tenant, beside: Beside):
    work(alpha)
    found = take_one(alpha)
    let_expire(found.execution_id)

    with transaction.atomic():
        assert rescue() == 1
        late = beside(lambda: complete(found))
        assert late.waits_for_a_lock()

    with pytest.raises(Conflict, match="lease is over"):
        late.join()
    assert reread(found.execution_id).status == "RETRYING"
    assert Attempt.objects.filter(execution_id=found.execution_id).count() == 1


def test_a_heartbeat_while_its_lease_is_ended_is_stale(alpha: Tenant, beside: Beside):
    execution, _ = accepted(alpha)
    let_expire(execution.id)

    with transaction.atomic():
        assert rescue() == 1
        late = beside(lambda: callbacks.heartbeat(execution.id, execution.fencing_token or 0))
        assert late.waits_for_a_lock()

    with pytest.raises(Conflict, match="lease is over"):
        late.join()
    assert reread(execution).status == "RETRYING"


def test_a_heartbeat_just_before_keeps_the_lease(alpha: Tenant, beside: Beside):
    execution, _ = accepted(alpha)
    let_expire(execution.id)

    with transaction.atomic():
        callbacks.heartbeat(execution.id, execution.fencing_token or 0)
        assert beside(rescue).join() == 0

    assert rescue() == 0
    assert reread(execution).status == "RUNNING"


def test_a_cancel_and_a_completion_leave_one_end(alpha: Tenant, beside: Beside):
    work(alpha)
    found = take_one(alpha)

    with transaction.atomic():
        cancel_execution(alpha.id, found.execution_id, actor=ACTOR)
        late = beside(lambda: complete(found))
        assert late.waits_for_a_lock()

    # What is asked to end may still end well.
    assert late.join() == "SUCCEEDED"
    assert Attempt.objects.filter(execution_id=found.execution_id).count() == 1


def test_a_cancel_and_a_failure_leave_it_cancelled(alpha: Tenant, beside: Beside):
    execution, _ = accepted(alpha)

    with transaction.atomic():
        cancel_execution(alpha.id, execution.id, actor=ACTOR)
        token = execution.fencing_token or 0
        late = beside(lambda: callbacks.fail(execution.id, token, Failure("stopped")))
        assert late.waits_for_a_lock()

    assert late.join().status == reread(execution).status == "CANCELLED"
