"""What the recorder makes of a 202: the receiver goes on, and its heartbeats keep the lease."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.complete.stage import Recorder
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.redis_client import OUTCOME_STREAM, client
from tenants.models import Tenant
from tests.executions.leasing import call, handed_out, reread
from tests.factories import reload
from wire import outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _group(db: None) -> None:
    ensure_group()


def record(execution: Execution, *verbs: str, **parts: Any) -> None:
    """Let the worker say so much in one entry, and the recorder write it."""
    now = time.time()
    said = {
        "id": str(execution.id),
        "token": execution.fencing_token,
        "worker": "worker-1",
        "started": now - 0.5,
        "at": now,
        **parts,
    }
    rows: list[Any] = [{**said, "verb": verb} for verb in verbs]
    client().xadd(OUTCOME_STREAM, {"d": outcomes.joined(map(outcomes.encode, rows))})
    Recorder("r1", block_seconds=0.01).run_once()


@pytest.mark.moving_clock
@pytest.mark.parametrize("verbs", [("accepted",), ("started", "accepted")])
def test_an_accepted_job_runs_under_a_lease_that_heartbeats_keep(
    alpha: Tenant, verbs: tuple[str, ...]
):
    execution, _ = handed_out(alpha, heartbeat_timeout_seconds=120)

    record(execution, *verbs)

    row = reread(execution)
    assert (row.status, row.attempt, row.worker) == ("RUNNING", 1, "worker-1")
    assert row.accepted_at is not None
    assert timedelta(seconds=110) < row.lease_expires_at - database_now() <= timedelta(seconds=120)
    assert reload(row.task).status == "RUNNING"


def test_its_lease_ends_with_its_longest_run(alpha: Tenant):
    execution, _ = handed_out(alpha, heartbeat_timeout_seconds=120, max_runtime_seconds=100)

    record(execution, "accepted")

    row = reread(execution)
    assert row.lease_expires_at == row.accepted_at + timedelta(seconds=100)


def test_a_202_that_is_recorded_after_a_heartbeat_changes_nothing(alpha: Tenant):
    execution, token = handed_out(alpha)
    call(execution.id, "heartbeat", token, {"extend_seconds": 5000})
    before = reread(execution)

    record(execution, "started", "accepted")

    after = reread(execution)
    assert (after.attempt, after.lease_expires_at) == (1, before.lease_expires_at)


def test_a_202_that_is_recorded_after_the_end_changes_nothing(alpha: Tenant):
    execution, token = handed_out(alpha)
    call(execution.id, "complete", token)

    record(execution, "started", "accepted")

    assert (reread(execution).status, reread(execution).attempt) == ("SUCCEEDED", 1)


def test_a_202_under_a_former_token_changes_nothing(alpha: Tenant):
    execution, _ = handed_out(alpha)

    record(execution, "accepted", token=(execution.fencing_token or 0) - 1)

    assert reread(execution).status == "QUEUED"


def test_a_202_of_what_is_to_be_cancelled_gets_the_grace(alpha: Tenant):
    execution, _ = handed_out(alpha)
    record(execution, "started")
    asked = database_now()
    Execution.objects.filter(pk=execution.pk).update(cancel_requested_at=asked)

    record(execution, "accepted")

    assert reread(execution).lease_expires_at == asked + timedelta(seconds=30)
