"""Work that rescue takes back while a recorder writes what came of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from executions import transitions
from executions.complete.outcome_stream import ensure_group
from executions.loop.clocks import database_now
from executions.models import Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from executions.rescue import lost_workers
from executions.rescue.stage import Rescuer
from executions.transitions import Finish
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import WORKER, make_execution
from tests.support.beats import beat
from tests.support.beats import silence as silent

Beside = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def rescuer(alpha: Tenant, monkeypatch: pytest.MonkeyPatch) -> Rescuer:
    """Return one for which Redis has been answering long enough."""
    monkeypatch.setattr(lost_workers.Silence, "_answering", lambda *_: True)
    ensure_group()
    beat(WORKER)
    return Rescuer(Partitions())


def rescue(rescuer: Rescuer) -> int:
    rescuer.partitions.run_once()
    assert rescuer.partitions.held
    return rescuer.run_once().done


def write_success(execution: Execution) -> None:
    number = max(1, execution.attempt)
    said = Finish(execution.id, execution.fencing_token or 0, number, "SUCCEEDED", "SUCCEEDED")
    assert transitions.finish([said]) == [execution.id]


def expire() -> None:
    Execution.objects.update(
        lease_expires_at=F("lease_expires_at") - timedelta(seconds=conf().lease_margin_seconds + 90)
    )


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
def test_rescue_passes_over_what_a_recorder_is_writing(
    alpha: Tenant, rescuer: Rescuer, beside: Beside, status: str
):
    written, other = (make_execution(alpha, status) for _ in range(2))
    expire()
    silent(WORKER, 60)

    with transaction.atomic():
        Execution.objects.select_for_update(no_key=True).get(id=written.id)
        # It would wait here for ever: the recorder ends only when rescue has.
        assert beside(lambda: rescue(rescuer)).join() == 1
        write_success(written)

    written.refresh_from_db()
    other.refresh_from_db()
    back = "PENDING" if status == "QUEUED" else "RETRYING"
    assert (written.status, other.status) == ("SUCCEEDED", back)


def test_what_rescue_passed_over_comes_back_when_nothing_was_written(
    alpha: Tenant, rescuer: Rescuer, beside: Beside
):
    execution = make_execution(alpha, "QUEUED")
    expire()
    with transaction.atomic():
        write_success(execution)
        assert beside(lambda: rescue(rescuer)).join() == 0
        transaction.set_rollback(True)

    assert beside(lambda: rescue(rescuer)).join() == 1
    execution.refresh_from_db()
    assert execution.status == "PENDING"


def test_what_a_lost_scheduler_claimed_comes_back_as_soon_as_its_row_is_free(
    alpha: Tenant, rescuer: Rescuer, beside: Beside
):
    locked, other = (make_execution(alpha, "QUEUED") for _ in range(2))
    lost = Partitions()
    lost.run_once()
    PartitionLease.objects.update(expires_at=database_now() - timedelta(seconds=1))
    SchedulerNode.objects.filter(id=lost.node).delete()
    Execution.objects.update(queued_at=F("queued_at") - timedelta(seconds=1))

    with transaction.atomic():
        Execution.objects.select_for_update(no_key=True).get(id=locked.id)
        assert beside(lambda: rescue(rescuer)).join() == 1
    # Its lease goes on for ten seconds.
    assert beside(lambda: rescue(rescuer)).join() == 1

    for execution in (locked, other):
        execution.refresh_from_db()
        assert execution.status == "PENDING"
