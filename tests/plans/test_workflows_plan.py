"""Thousands of runs wait, and a scheduler looks each second for what is to be done of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from executions.ownership.partitions import Partitions
from tests.factories import ACTOR, make_task, make_tenant, once, prepare
from tests.support.child_runs import runs
from tests.support.limits_world import ask, begin, end_all, limit, look, queueing
from tests.support.open_rows import multiply
from tests.support.workflow_steps import open_keys
from tests.support.workflows import begin_run, calls, make_workflow
from workflows import deadlocks, stages
from workflows.control import Scope, cancel_run

pytestmark = pytest.mark.django_db

#: Three thousand copies of what there is, with other ids.
_COPIES = (
    """INSERT INTO workflow_runs SELECT (jsonb_populate_record(r, jsonb_build_object(
        'id', gen_random_uuid(), 'partition', n % 256))).*
        FROM workflow_runs r, generate_series(1, 3000) n""",
    """INSERT INTO workflow_waits (run_id, step, item, kind, take, tenant_id, partition, began_at,
        due_at) SELECT id, 1, -1, 'approval', 1, tenant_id, partition, now(),
        now() + interval '1 day' FROM workflow_runs WHERE id <> execution_id""",
    """INSERT INTO workflow_waits (run_id, step, item, kind, take, tenant_id, partition, began_at,
        due_at) SELECT id, 0, -1, 'deadline', 1, tenant_id, partition, now(),
        now() + interval '1 day' FROM workflow_runs ON CONFLICT DO NOTHING""",
    """INSERT INTO workflow_fans (run_id, step, take, total, begun, began_at, sealed_items)
        SELECT id, 1, 1, 2, 1, now(), '' FROM workflow_runs WHERE id <> execution_id""",
    "ANALYZE workflow_runs, workflow_waits, workflow_fans",
)


def test_what_waits_is_not_read_to_find_what_is_left_behind_or_due(plans: Any):
    alpha = make_tenant("Alpha")
    run_id = begin_run(make_workflow(alpha, [calls("a"), calls("b"), calls("c", "b")]))
    with connection.cursor() as cursor:
        for statement in _COPIES:
            cursor.execute(statement)
        cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE run_id = %s", [run_id])
    # The process dies before it takes the step back.
    cancel_run(alpha.id, run_id, Scope("downstream", "b"), actor=ACTOR)
    assert open_keys(run_id) == ["a", "b"]
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        stages.repair(partitions)
        stages.begin_and_fire(partitions)

    assert open_keys(run_id) == []
    found.check("workflow_ends/left_behind", "workflow_ends/next", "workflow_ends/tell_due")


def test_runs_that_wait_for_places_are_found_among_much_open_work(plans: Any):
    alpha = make_tenant("Alpha")
    task = make_workflow(alpha, [calls("a")], schedule=queueing(1), concurrency={"key": "k"})
    other = make_workflow(
        alpha, [calls("first"), runs("sub", task, "first")], concurrency={"key": "k"}
    )
    limit(alpha, runs_in_flight=1)
    ask(other)
    begin()
    ask(task)
    begin()
    end_all()
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    multiply("task_id NOT IN (SELECT id FROM tasks WHERE pool = 'workflow')")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")

    with plans() as found:
        look()
        stages.repair(_everything())
        deadlocks._waits(alpha.id, [task.id])

    found.check("gate/needing", "gate/lock_unbegun", "gate/lock_needing", "gate/put_back")
    found.check("workflow_deadlocks/tenants", "workflow_deadlocks/waits")
    for name in ("gate/needing", "workflow_deadlocks/tenants"):
        assert "open_executions_run_waits_idx" in found.found[name][0].indexes


def _everything() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions
