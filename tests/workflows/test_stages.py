"""The scheduler begins runs, fires their timers, and repairs what a crash has left."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import Error, connection

from executions.loop.clocks import database_now
from executions.models import WorkflowRun
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import run_task
from shared.conf import conf
from shared.ids import new_id
from shared.sql import rows
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, spoil
from tests.support.workflow_steps import claim, end, open_keys, run_step, start_step
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows import plan, stages
from workflows.advance.stage import advance
from workflows.control import Scope, cancel_run
from workflows.stages import advance_told, begin_and_fire, fire, forget, repair, stages_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def partitions(db: None) -> Partitions:
    found = Partitions()
    found.run_once()
    assert found.ready
    return found


def let_inbox_be_new() -> None:
    # Its rows have the time of the transaction, which is that of the whole test.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_inbox SET at = clock_timestamp() + interval '3 seconds'")


def let_inbox_be_old() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_inbox SET at = at - interval '5 seconds'")


def let_waits_be_over() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflow_waits SET due_at = %s WHERE due_at IS NOT NULL",
            [database_now() - timedelta(seconds=1)],
        )


def inbox() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM workflow_inbox")
        return int(cursor.fetchone()[0])


def ask(tenant: Tenant, *steps: dict[str, Any], **parts: Any) -> UUID:
    task = make_workflow(tenant, steps, **parts)
    return run_task(tenant.id, task.id, None, actor=ACTOR).id


def test_a_due_run_begins_and_its_first_steps_with_it(tenant: Tenant, partitions: Partitions):
    run_id = ask(tenant, calls("a"), calls("b", "a"))

    assert begin_and_fire(partitions) == 0.0

    assert open_keys(run_id) == ["a"]


def test_with_nothing_due_the_stage_says_how_long(tenant: Tenant, partitions: Partitions):
    assert 0 < begin_and_fire(partitions) <= conf().scheduler_sleep_seconds
    begin_run(make_workflow(tenant, [calls("a")], deadline_seconds=60))

    assert 0 < begin_and_fire(partitions) <= conf().scheduler_sleep_seconds
    assert begin_and_fire(Partitions()) > 0


def test_a_due_timer_fires_once_and_its_run_goes_on(tenant: Tenant, partitions: Partitions):
    steps = [{"key": "delay", "kind": "delay", "delay_seconds": 0}, calls("b", "delay")]
    run_id = begin_run(make_workflow(tenant, steps))

    assert begin_and_fire(partitions) == 0.0

    assert states(run_id) == {"delay": "SUCCEEDED", "b": "OPEN"}
    assert fire(EVERYWHERE) == []


def test_a_timer_is_told_once_until_its_run_is_advanced(tenant: Tenant):
    run_id = begin_run(
        make_workflow(tenant, [{"key": "delay", "kind": "delay", "delay_seconds": 0}])
    )

    assert fire(EVERYWHERE) == [run_id]
    assert fire(EVERYWHERE) == []
    assert inbox() == 1


def test_an_end_that_no_process_advanced_is_repaired_after_a_second(
    tenant: Tenant, partitions: Partitions
):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    end(claim(run_id)["a"])
    let_inbox_be_new()

    repair(partitions)
    assert open_keys(run_id) == []
    let_inbox_be_old()
    repair(partitions)

    assert open_keys(run_id) == ["b"]
    assert inbox() == 0


def test_a_cancel_that_a_crash_interrupted_is_finished(tenant: Tenant, partitions: Partitions):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b")]))
    claim(run_id)
    WorkflowRun.objects.update(phase="cancelling", reason="cancelled")

    repair(partitions)
    let_inbox_be_old()
    repair(partitions)

    assert status_of(run_id) == "CANCELLED"


def test_a_fail_fast_that_a_crash_interrupted_is_finished(tenant: Tenant, partitions: Partitions):
    steps = [calls("a"), calls("b"), calls("mend", "a", condition="one_failed")]
    run_id = begin_run(make_workflow(tenant, steps))
    end(claim(run_id)["a"], "FAILED")
    # The process dies between this commit and taking the steps back.
    assert advance([run_id]) == {run_id: {2}}

    repair(partitions)
    go_on(run_id)

    assert open_keys(run_id) == ["mend"]
    assert states(run_id)["b"] == "CANCELLED"


def test_a_deadline_of_a_fan_out_that_a_crash_interrupted_is_finished(
    tenant: Tenant, partitions: Partitions
):
    steps = [calls("load", for_each="{{ input }}", deadline_seconds=60), calls("b")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"), [1, 2])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE step = 1")
    assert advance(fire(EVERYWHERE)) == {run_id: {1}}

    repair(partitions)
    go_on(run_id)

    assert open_keys(run_id) == ["b"]


def test_a_deadline_of_a_step_that_a_crash_interrupted_is_finished(
    tenant: Tenant, partitions: Partitions
):
    steps = [calls("a", deadline_seconds=60), calls("b")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE step = 1")
    assert advance(fire(EVERYWHERE)) == {run_id: {1}}

    repair(partitions)
    go_on(run_id)

    assert open_keys(run_id) == ["b"]


@pytest.mark.logs("run.definition_unreadable")
def test_ends_of_a_run_that_no_key_opens_wait_for_the_key(
    tenant: Tenant, partitions: Partitions, monkeypatch: pytest.MonkeyPatch
):
    task = make_workflow(tenant, [calls("a", payload={"n": 1}), calls("b", "a")])
    run_id = begin_run(task)
    other = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    for one in (run_id, other):
        end(claim(one)["a"])
    sealed = {row.version: row.sealed for row in task.revisions.all()}
    spoil(task)
    plan.plan_of.cache_clear()
    advance_told([run_id, other])
    assert (open_keys(run_id), open_keys(other)) == ([], ["b"])

    for version, value in sealed.items():
        task.revisions.filter(version=version).update(sealed=value)
    advance_told([run_id])

    assert open_keys(run_id) == ["b"]


def test_a_timer_of_a_run_that_no_key_opens_does_not_keep_the_scheduler_busy(
    tenant: Tenant, partitions: Partitions
):
    task = make_workflow(tenant, [calls("a", payload={"n": 1})], deadline_seconds=60)
    begin_run(task)
    spoil(task)
    plan.plan_of.cache_clear()
    let_waits_be_over()

    begin_and_fire(partitions)

    assert begin_and_fire(partitions) > 0


@pytest.mark.logs("advance.failed")
def test_a_database_that_fails_leaves_the_inbox_to_a_later_pass(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    end(claim(run_id)["a"])
    with monkeypatch.context() as patch:

        def fail(*_: Any) -> Any:
            raise Error("The database is away.")

        patch.setattr(stages, "advance", fail)
        advance_told([run_id])
    assert inbox() == 1

    advance_told([run_id])

    assert open_keys(run_id) == ["b"]


def test_a_cancel_over_the_ledger_reaches_the_steps_of_a_run(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    row = claim(run_id)["a"]
    start_step(row)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    end(row, "CANCELLED")
    advance_told([run_id])

    assert status_of(run_id) == "CANCELLED"


def test_the_stages_have_names_of_their_own(partitions: Partitions):
    assert [stage.name for stage in stages_of(partitions)] == [
        "workflows",
        "workflow_repair",
        "workflow_signals",
    ]


def test_an_ended_run_is_advanced_without_effect(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    run_step(run_id, "a")

    advance_told([run_id])

    assert status_of(run_id) == "SUCCEEDED"


def test_what_was_told_to_a_run_that_had_just_ended_is_forgotten(
    tenant: Tenant, partitions: Partitions
):
    open_ = begin_run(make_workflow(tenant, [calls("a")]))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workflow_inbox (run_id, kind, step, item, take, at)"
            " SELECT run, 'signal', 1, -1, 1, now() - ago FROM unnest(%s) AS run,"
            " unnest(ARRAY[interval '2 hours', interval '1 minute']) AS ago",
            [[open_, new_id()]],
        )

        forget(partitions)

        cursor.execute("SELECT run_id = %s, count(*) FROM workflow_inbox GROUP BY 1", [open_])
        assert dict(cursor.fetchall()) == {True: 2, False: 1}


def test_runs_that_stay_in_a_phase_hide_no_other_from_the_repair(tenant: Tenant):
    steps = [calls("a"), calls("tell", "a", condition="one_failed"), calls("other")]
    for _ in range(3):
        run_step(begin_run(make_workflow(tenant, steps)), "a", "FAILED")
    other = begin_run(make_workflow(tenant, [calls("a")]))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workflow_inbox (run_id, kind, at)"
            " VALUES (%s, 'began', now() - interval '1 minute')",
            [other],
        )

    found = rows("workflow_ends/left_behind", {"partitions": EVERYWHERE, "limit": 1})

    assert (other, True) in found
