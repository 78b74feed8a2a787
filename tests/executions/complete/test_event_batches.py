"""Common moves are one event a statement, name and tenant; all others are one each."""

from __future__ import annotations

import pytest

from events.models import Event
from events.models.event import BATCHED
from executions import transitions
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from executions.transitions import Finish
from tests.factories import WORKER, make_task, once, prepare, release, start
from tests.support.events import names_of, subjects_of


@pytest.fixture
def six(alpha, beta):
    """Return executions of two tenants, prepared by one statement."""
    for tenant in (alpha, beta):
        for _ in range(3):
            make_task(tenant, once())
    prepare()
    return list(Execution.objects.order_by("id"))


def assert_one_row_for_each_tenant(name, executions):
    of_tenants = Event.objects.filter(name=name).values_list("tenant_id", flat=True)
    assert sorted(of_tenants) == sorted({execution.tenant_id for execution in executions})
    for event in Event.objects.filter(name=name):
        assert (event.subject_id, event.task_id) == (None, None)
        mine = {one.pk: one.task_id for one in executions if one.tenant_id == event.tenant_id}
        assert dict(zip(event.subjects or [], event.tasks or [], strict=True)) == mine
    assert len(subjects_of(name)) == len(executions)


def test_the_way_of_a_success_is_four_rows_a_tenant(six):
    assert_one_row_for_each_tenant("execution.materialized", six)

    claimed = release()
    assert_one_row_for_each_tenant("execution.queued", six)

    start(claimed)
    assert_one_row_for_each_tenant("execution.started", six)

    finish_together([(row, "SUCCEEDED") for row in claimed])
    assert_one_row_for_each_tenant("execution.succeeded", six)
    assert Event.objects.filter(name__startswith="execution.").count() == 2 * len(BATCHED)
    for execution in six:
        assert set(names_of(execution.pk)) == BATCHED


def test_what_did_not_succeed_is_an_event_of_its_own_beside_the_batch(six):
    claimed = release()
    ends = ["SUCCEEDED", "FAILED", "RETRYING", "SUCCEEDED", "CANCELLED", "SUCCEEDED"]

    finish_together(list(zip(claimed, ends, strict=True)))

    for row, end in zip(claimed, ends, strict=True):
        name = f"execution.{end.lower()}"
        assert names_of(row.id)[-1] == name
        assert Event.objects.filter(subject_id=row.id, name=name).count() == (end != "SUCCEEDED")
    succeeded = list(Execution.objects.filter(status="SUCCEEDED"))
    assert len(succeeded) == 3
    assert_one_row_for_each_tenant("execution.succeeded", succeeded)


def test_a_batch_without_a_success_writes_no_empty_row(six):
    finish_together([(row, "FAILED") for row in release()])

    assert not Event.objects.filter(name="execution.succeeded").exists()
    assert len(subjects_of("execution.failed")) == 6


def test_an_attempt_keeps_when_it_was_handed_out(six):
    claimed = release()
    finish_together([(row, "SUCCEEDED") for row in claimed])

    handed = dict(Execution.objects.values_list("id", "queued_at"))
    assert None not in handed.values()
    assert dict(Attempt.objects.values_list("execution_id", "queued_at")) == handed


def finish_together(pairs):
    now = database_now()
    transitions.finish(
        [
            Finish(
                row.id,
                row.token,
                row.attempt + 1,
                status,
                outcome=status if status in {"SUCCEEDED", "CANCELLED"} else "FAILED",
                worker=WORKER,
                started_at=now,
                finished_at=now,
                retry_in=60.0 if status == "RETRYING" else 0.0,
            )
            for row, status in pairs
        ]
    )
