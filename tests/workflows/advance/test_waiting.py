"""The ends of waits, and the marks of steps that are taken back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.models import Execution
from shared.sql import rows
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, release
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    pass_time,
    states,
    status_of,
)
from workflows.advance.stage import advance
from workflows.control import Scope, cancel_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def let_pass(kind: str) -> None:
    """Let the time of all waits of a kind be over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflow_waits SET due_at = now() - interval '1 second'"
            " WHERE kind = %s AND step > 0",
            [kind],
        )
    pass_time()


def left_behind() -> list[UUID]:
    found = rows("workflow_ends/left_behind", {"partitions": EVERYWHERE, "limit": 10})
    return [row[0] for row in found]


@pytest.mark.parametrize(
    ("step", "kind", "end"),
    [
        ({"kind": "delay", "delay_seconds": 60}, "delay", ("SUCCEEDED", "")),
        (
            {"kind": "approval", "timeout_seconds": 60},
            "approval",
            ("FAILED", "approval_timeout"),
        ),
        (
            {"kind": "wait_for_event", "event": "paid", "timeout_seconds": 60},
            "event",
            ("FAILED", "event_timeout"),
        ),
        (
            {"kind": "approval", "deadline_seconds": 60},
            "deadline",
            ("FAILED", "deadline_exceeded"),
        ),
    ],
)
def test_a_wait_ends_with_its_time(
    tenant: Tenant, step: dict[str, Any], kind: str, end: tuple[str, str]
):
    run = begin_run(make_workflow(tenant, [{"key": "wait", **step}]))
    assert states(run) == {"wait": "OPEN"}

    let_pass(kind)

    [found] = ends_of(run)
    assert (found.status, found.reason) == end
    assert status_of(run) == end[0]


def test_a_call_that_is_late_is_taken_back_and_fails_then(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a", deadline_seconds=60)]))
    release()

    let_pass("deadline")

    [found] = [end for end in ends_of(run) if end.step == 1]
    assert (found.status, found.error_code) == ("FAILED", "deadline_exceeded")
    assert found.execution_id is not None
    assert Execution.objects.get(pk=found.execution_id).status == "CANCELLED"
    assert status_of(run) == "FAILED"


def test_a_fan_out_that_is_late_fails_and_its_items_are_taken_back(tenant: Tenant):
    step = calls("a", for_each=[1, 2, 3], max_parallel=2, deadline_seconds=60)
    run = begin_run(make_workflow(tenant, [step]))

    let_pass("deadline")

    items = [end.status for end in ends_of(run) if end.item >= 0]
    assert items == ["CANCELLED", "CANCELLED"]
    assert status_of(run) == "FAILED"


def test_what_a_person_cancels_is_taken_back_also_by_another_process(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a"), calls("b"), calls("c", "b")]))

    # The process dies before it takes the step back.
    cancel_run(tenant.id, run, Scope("downstream", "b"), actor=ACTOR)
    assert states(run) == {"a": "OPEN", "b": "OPEN", "c": "CANCELLED"}
    assert left_behind() == [run]
    go_on(run)

    assert states(run) == {"a": "OPEN", "b": "CANCELLED", "c": "CANCELLED"}
    assert left_behind() == []


def test_an_advance_names_marked_steps_until_they_have_ended(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a"), calls("b")]))
    cancel_run(tenant.id, run, Scope("downstream", "b"), actor=ACTOR)

    assert advance([run]) == {run: {2}}
    assert advance([run]) == {run: {2}}


def test_items_of_a_fan_out_that_has_ended_are_taken_back_also_by_another_process(tenant: Tenant):
    steps = [calls("a", for_each=[1, 2, 3], max_parallel=2), calls("b")]
    run = begin_run(make_workflow(tenant, steps))

    # The process dies before it takes the items back.
    cancel_run(tenant.id, run, Scope("downstream", "a"), actor=ACTOR)
    assert states(run) == {"a": "CANCELLED", "b": "OPEN"}
    assert left_behind() == [run]
    assert advance([run]) == {run: {1}}
    go_on(run)

    assert [end.status for end in ends_of(run) if end.item >= 0] == ["CANCELLED", "CANCELLED"]
    assert left_behind() == []
    assert tables_with_rows() == ["workflow_runs", "workflow_steps", "workflow_waits"]
