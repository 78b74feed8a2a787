from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.materialize import unowned_work
from executions.models import Execution
from executions.ownership.partitions import Partitions, Unowned
from shared.sql import rows
from tasks.models import TaskCursor
from tests.factories import every_second, make_task, make_tenant, once, prepare
from tests.support.open_rows import multiply

pytestmark = pytest.mark.django_db

#: The indexes of what is due, by partition.
_DUE = {"task_cursors_due_idx", "task_cursors_plain_idx"}
_DONE = """
INSERT INTO task_cursors
    (task_id, tenant_id, partition, next_run_at, occurrence_count, held, execution_id)
SELECT uuidv7(), (SELECT min(tenant_id::text)::uuid FROM task_cursors), n % 256,
       now() - interval '2 hours' + n * interval '1 second', n, false, uuidv7()
FROM generate_series(1, 20000) AS n
"""


@pytest.fixture
def partitions(db: None) -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def test_due_tasks_are_found_and_advanced_by_their_index(plans: Any, partitions: Partitions):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, every_second(name=str(number)))

    with plans() as found:
        assert materialize.run_once(partitions).done == 30
        # A further second may have come into the horizon meanwhile.
        while materialize.run_once(partitions).done:
            pass

    found.check(
        "materialize/lock_due_tasks",
        "materialize/insert_open",
        "materialize/already_ended",
        "materialize/advance_cursors",
        "materialize/next_due_task",
    )
    found.check_within(
        _DUE | {"tasks_pkey", "partition_leases_pkey", "scheduler_nodes_pkey"},
        "materialize/lock_due_tasks",
        "materialize/take_plain",
        "materialize/next_due_task",
    )


@pytest.mark.parametrize("ago", [timedelta(days=-300), timedelta(hours=1), timedelta(days=300)])
def test_a_look_where_nothing_should_be_goes_by_partition_all_the_same(
    plans: Any, partitions: Partitions, ago: timedelta
):
    with connection.cursor() as cursor:
        # Entries of what is done stay in the index, and statistics know of the few others.
        cursor.execute(_DONE)
        cursor.execute(
            "DELETE FROM task_cursors WHERE execution_id IS NOT NULL AND occurrence_count > 3"
        )
        cursor.execute("ANALYZE task_cursors")
    begin = database_now() - ago
    bounds = {"since": begin, "until": begin + timedelta(seconds=10)}

    with plans() as found:
        rows("materialize/next_due_task", {"partitions": list(partitions.held), **bounds})

    # Of one tenant each partition would lead through that time of all of them.
    found.check_within(_DUE, "materialize/next_due_task")


def test_cursors_of_one_time_tasks_are_taken_by_their_key(plans: Any, partitions: Partitions):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    # As those are that something may decide about.
    TaskCursor.objects.update(execution_id=None)
    for number in range(30):
        make_task(alpha, once(name=str(number)))

    with plans() as found:
        assert materialize.run_once(partitions).done == 60

    found.check("materialize/take_plain", "materialize/lock_due_tasks", "materialize/take_cursors")


def test_neglected_work_is_found_by_its_index(plans: Any, partitions: Partitions):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, every_second(name=str(number)))
    while materialize.run_once(partitions).done:
        pass
    now = database_now()
    since = now - timedelta(hours=1)
    # All that is prepared comes due before the end of that time.
    until = now + timedelta(hours=1)
    partitions.neglected = dict.fromkeys(partitions.held, Unowned(since, until))

    with plans() as found:
        unowned_work.take_up(partitions)

    found.check("materialize/lock_neglected", "materialize/unprepare_neglected")


_WAITS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "gate": {"held": True, "gated": True},
    "key": {"held": True, "concurrency_key": "k", "key_place": 0},
    "runs of its tenant": {"held": True, "pool": "workflow", "reason": "tenant_limit"},
}


@pytest.mark.parametrize("waits", _WAITS)
def test_of_much_open_work_a_takeover_reads_what_came_due_meanwhile(
    plans: Any, partitions: Partitions, waits: str
):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare(partitions)
    own = Execution.objects.filter(tenant_id=alpha.id)
    own.update(due_at=database_now() - timedelta(days=1), **_WAITS[waits])
    multiply()
    for number in range(5):
        make_task(alpha, every_second(name=str(number)))
    prepare(partitions)
    own.filter(due_at__gt=database_now() - timedelta(hours=1)).update(**_WAITS[waits])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")
    now = database_now()
    stretch = Unowned(now - timedelta(minutes=1), now + timedelta(hours=1))
    partitions.neglected = dict.fromkeys(partitions.held, stretch)

    with plans() as found:
        unowned_work.take_up(partitions)

    found.check("materialize/oldest_neglected", "materialize/lock_neglected")
    if waits != "nothing":
        for plan in found.found["materialize/lock_neglected"]:
            assert "open_executions_late_on_hold_idx" in plan.indexes
