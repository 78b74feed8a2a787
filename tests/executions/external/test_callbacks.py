from __future__ import annotations

import pytest

from executions.external import callbacks
from executions.external.callbacks import PROGRESS_BYTES, RESULT_BYTES, Failure
from executions.models import Attempt
from executions.payloads import progress_of, result_of
from shared.exceptions import Conflict, TooLarge
from tasks.models import NamedSecret
from tasks.named_secrets.services import change_secret
from tenants.models import Tenant
from tests.executions.leasing import accepted, reread, take_one, work
from tests.factories import ACTOR
from tests.support.named_secrets import VALUE, make_secret, using


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


def test_a_result_and_a_progress_that_repeat_a_secret_are_kept_masked(alpha: Tenant):
    make_secret(alpha)
    execution, _ = accepted(alpha, **using())
    token = execution.fencing_token or 0
    said = {"sent": {"Authorization": f"Bearer {VALUE}"}, "count": 3}
    kept = {"sent": {"Authorization": "Bearer [redacted]"}, "count": 3}

    callbacks.heartbeat(execution.id, token, said)
    assert progress_of(reread(execution)) == kept
    first = callbacks.complete(execution.id, token, said)

    assert result_of(reread(execution)) == kept
    assert callbacks.complete(execution.id, token, said) == first
    with pytest.raises(Conflict):
        callbacks.complete(execution.id, token, {**said, "count": 4})


def test_a_value_that_was_replaced_while_it_ran_is_masked_beside_the_new_one(alpha: Tenant):
    make_secret(alpha)
    execution, _ = accepted(alpha, **using())
    change_secret(alpha.id, "token", {"value": "another-value-of-it"}, actor=ACTOR)
    change_secret(alpha.id, "token", {"value": "the-third-value"}, actor=ACTOR)
    said = {"sent": [VALUE, "another-value-of-it", "the-third-value"]}

    callbacks.complete(execution.id, execution.fencing_token or 0, said)

    assert result_of(reread(execution)) == {"sent": ["[redacted]"] * 3}


def test_an_error_that_repeats_a_secret_is_kept_masked(alpha: Tenant):
    make_secret(alpha)
    execution, _ = accepted(alpha, **using())
    token = execution.fencing_token or 0
    failure = Failure(f"401 for {VALUE}", retry=False)

    first = callbacks.fail(execution.id, token, failure)

    assert callbacks.fail(execution.id, token, failure).status == first.status == "FAILED"
    assert reread(execution).error_message == "401 for [redacted]"
    assert Attempt.objects.get(execution_id=execution.id).error_message == "401 for [redacted]"


def test_a_job_whose_secret_no_key_opens_ends_and_keeps_nothing_of_its_report(alpha: Tenant):
    secret = make_secret(alpha)
    execution, _ = accepted(alpha, **using())
    NamedSecret.objects.filter(pk=secret.pk).update(sealed=bytes(secret.sealed[:1]) + b"spoilt")

    ending = callbacks.complete(execution.id, execution.fencing_token or 0, {"echo": VALUE})

    assert ending.status == "SUCCEEDED"
    assert result_of(reread(execution)) == "[redacted]"
