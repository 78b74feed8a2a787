from __future__ import annotations

import pytest

from executions.external import callbacks
from executions.external.callbacks import PROGRESS_BYTES, RESULT_BYTES, Failure
from shared.exceptions import Conflict, TooLarge
from tenants.models import Tenant
from tests.executions.leasing import accepted, reread, take_one, work


def test_the_token_in_the_body_must_be_the_proven_one():
    assert callbacks.require_token(7, None) == callbacks.require_token(7, 7) == 7
    with pytest.raises(Conflict):
        callbacks.require_token(7, 8)


def test_progress_and_results_are_bounded_by_their_size_as_json(alpha: Tenant):
    execution, _ = accepted(alpha)
    token = execution.fencing_token or 0

    callbacks.heartbeat(execution.id, token, "x" * (PROGRESS_BYTES - 2))
    with pytest.raises(TooLarge):
        callbacks.heartbeat(execution.id, token, "x" * (PROGRESS_BYTES - 1))
    with pytest.raises(TooLarge):
        callbacks.complete(execution.id, token, "x" * (RESULT_BYTES - 1))
    assert callbacks.complete(execution.id, token, "x" * (RESULT_BYTES - 2)).status == "SUCCEEDED"


def test_a_stale_token_changes_nothing_whatever_it_says(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    execution, token = lease.execution_id, lease.fencing_token + 1
    before = reread(execution)

    for say in (
        lambda: callbacks.heartbeat(execution, token, 1),
        lambda: callbacks.complete(execution, token),
        lambda: callbacks.fail(execution, token, Failure("no")),
        lambda: callbacks.release(execution, token),
    ):
        with pytest.raises(Conflict, match="lease is over"):
            say()

    after = reread(execution)
    assert (after.status, after.attempt, after.lease_expires_at, after.sealed_progress) == (
        before.status,
        before.attempt,
        before.lease_expires_at,
        None,
    )
