"""Thousands of runs wait, and a scheduler looks each second for what is to be done of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from executions.ownership.partitions import Partitions
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import open_keys
from tests.support.workflows import begin_run, calls, make_workflow
from workflows import stages
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
