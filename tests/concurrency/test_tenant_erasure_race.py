"""A tenant that is removed beside the recorder, which has outcomes of its executions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from executions import run_signals, transitions
from executions.changes import suspension
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Erasure, Execution
from executions.transitions import Finish
from operations.tenant_erasure import erase_tenant
from operations.tenant_removal import remove_history
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant, once, prepare, release
from tests.support.tables_of_runs import tables_with_rows
from tests.support.tables_of_tenants import STAYS, tables_with
from tests.support.workflow_steps import claim, end
from tests.support.workflows import begin_run, calls, make_workflow

Beside = Callable[[Callable[[], Any]], Any]


def handed_out() -> dict[UUID, Any]:
    """Hand out what is due; return it by its task, running."""
    prepare()
    rows = release()
    now = database_now()
    transitions.mark_running([(row.id, row.token, "w", now) for row in rows])
    return {row.task_id: row for row in rows}


def outcome(row: Any, status: str) -> Finish:
    now = database_now()
    return Finish(
        *(row.id, row.token, 1, status, "FAILED"),
        retry_in=60.0,
        started_at=now,
        finished_at=now,
        error_code="connect_failed",
        error_message="what the receiver said",
        sealed_response=b"an answer",
    )


def test_an_attempt_that_is_recorded_while_history_goes_goes_with_it(alpha: Tenant, beside: Beside):
    task = make_task(alpha, once())
    row = handed_out()[task.id]

    with transaction.atomic():
        transitions.finish([outcome(row, "RETRYING")])
        removing = beside(lambda: remove_history(alpha))
        assert removing.waits_for_a_lock()
    removing.join()

    assert not Execution.objects.filter(tenant_id=alpha.id).exists()
    assert not Attempt.objects.filter(tenant_id=alpha.id).exists()


def test_an_outcome_that_is_recorded_while_its_tenant_is_erased_leaves_no_row(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha, once())
    row = handed_out()[task.id]

    with transaction.atomic():
        transitions.finish([outcome(row, "FAILED")])
        erasing = beside(lambda: erase_tenant(alpha, reason="asked for", actor=ACTOR))
        assert erasing.waits_for_a_lock()
    erasing.join()

    assert tables_with(alpha.id) <= STAYS
    assert Erasure.objects.get().status == "COMPLETED"


def test_the_end_of_a_step_that_is_recorded_while_history_goes_leaves_no_row(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch
):
    # No scheduler hears of it.
    monkeypatch.setattr(run_signals, "tell", lambda runs: None)
    run_id = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))
    row = claim(run_id)["a"]

    with transaction.atomic():
        end(row)
        removing = beside(lambda: remove_history(alpha))
        assert removing.waits_for_a_lock()
    removing.join()

    assert tables_with_rows() == []


def test_outcomes_of_an_erased_tenant_bring_no_row_and_hold_up_no_other_outcome(alpha: Tenant):
    beta = make_tenant("Beta")
    lost, kept = make_task(alpha, once()), make_task(beta, once())
    rows = handed_out()
    erase_tenant(alpha, reason="asked for", actor=ACTOR)

    transitions.finish([outcome(rows[lost.id], "FAILED"), outcome(rows[kept.id], "FAILED")])
    transitions.finish([outcome(rows[lost.id], "RETRYING")])
    transitions.mark_running([(rows[lost.id].id, rows[lost.id].token, "w", database_now())])

    assert tables_with(alpha.id) <= STAYS
    assert Execution.objects.get(task_id=kept.id).status == "FAILED"
    assert DeadLetter.objects.get().task_id == kept.id


def test_a_scheduler_that_mends_the_suspension_meanwhile_brings_no_pause(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch
):
    make_task(alpha, once())
    mended: list[int] = []
    delete = Tenant.delete

    def mend_before(tenant: Tenant) -> Any:
        # The pause of the suspension has gone with the history; the tenant is still there.
        mended.append(beside(suspension.mend).join())
        return delete(tenant)

    monkeypatch.setattr(Tenant, "delete", mend_before)
    erase_tenant(alpha, reason="asked for", actor=ACTOR)

    assert mended == [0]
    assert tables_with(alpha.id) <= STAYS
