"""How the recorder counts a task's failures in a row, whatever one batch of it holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from executions import transitions
from executions.ledger import settling
from executions.ledger.settling import Settled
from executions.loop.clocks import database_now
from executions.transitions import Finish
from executions.triggering.triggers import run_task
from tasks.models import Task, TaskCursor
from tests.factories import ACTOR, WORKER, daily, finish, make_task, release, reload, start

pytestmark = pytest.mark.django_db


def record(task: Task, *outcomes: str) -> None:
    """Record executions of the task in one batch; they ended in this order, a second apart.

    Their ids, and the order in which the batch names them, are the other way round.
    """
    for _ in outcomes:
        run_task(task.tenant_id, task.id, None, actor=ACTOR)
    claimed = sorted((row for row in release() if row.task_id == task.id), key=lambda row: row.id)
    start(claimed)
    now = database_now()
    transitions.finish(
        [
            Finish(
                row.id,
                row.token,
                row.attempt + 1,
                status,
                "SUCCEEDED" if status == "SUCCEEDED" else "FAILED",
                worker=WORKER,
                started_at=now,
                finished_at=now - timedelta(seconds=place),
            )
            for place, (row, status) in enumerate(zip(claimed, reversed(outcomes), strict=True))
        ]
    )


@pytest.mark.parametrize(
    ("outcomes", "streak"),
    [
        (["FAILED"], 1),
        (["FAILED", "FAILED", "FAILED"], 3),
        (["SUCCEEDED", "FAILED", "FAILED"], 2),
        (["FAILED", "SUCCEEDED", "FAILED"], 1),
        (["FAILED", "FAILED", "SUCCEEDED"], 0),
        (["SUCCEEDED"], 0),
        (["FAILED", "RETRYING"], 1),
        (["CANCELLED"], 0),
        (["FAILED", "CANCELLED"], 1),
    ],
)
def test_failures_count_since_the_last_success_of_the_batch(alpha, outcomes, streak):
    task = make_task(alpha)

    record(task, *outcomes)

    assert reload(task).failure_streak == streak


@pytest.mark.parametrize(
    ("batches", "streak"),
    [
        ([["FAILED"], ["FAILED"]], 2),
        ([["FAILED", "FAILED"], ["FAILED", "FAILED"]], 4),
        ([["FAILED", "FAILED"], ["SUCCEEDED", "FAILED"]], 1),
        ([["FAILED", "FAILED"], ["RETRYING"]], 2),
        ([["FAILED", "FAILED"], ["CANCELLED"]], 2),
        ([["FAILED"], ["SUCCEEDED"]], 0),
    ],
)
def test_failures_add_up_from_batch_to_batch(alpha, batches, streak):
    task = make_task(alpha)

    for batch in batches:
        record(task, *batch)

    assert reload(task).failure_streak == streak


def test_each_task_of_a_batch_has_its_own_count(alpha):
    tasks = [make_task(alpha, daily(name=str(number))) for number in range(2)]
    for task in tasks:
        run_task(alpha.id, task.id, None, actor=ACTOR)
    claimed = release()
    start(claimed)
    [first] = [row for row in claimed if row.task_id == tasks[0].id]
    [second] = [row for row in claimed if row.task_id == tasks[1].id]

    finish(first, "FAILED", reason="attempts_exhausted")
    finish(second)

    assert [reload(task).failure_streak for task in tasks] == [1, 0]


def test_an_outcome_under_a_stale_token_counts_nothing(alpha):
    task = make_task(alpha)
    run_task(alpha.id, task.id, None, actor=ACTOR)
    [row] = release()
    start([row])
    finish(row, "FAILED", reason="attempts_exhausted")

    finish(row, "FAILED", reason="attempts_exhausted")

    assert reload(task).failure_streak == 1


def entries_read() -> int:
    """How many entries of the cursors' indexes this transaction has read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint FROM pg_index"
            " WHERE indrelid = 'task_cursors'::regclass"
        )
        [(count,)] = cursor.fetchall()
    return int(count)


def test_settling_reads_no_older_versions_of_a_cursor(alpha):
    with connection.cursor() as cursor:
        # The first as the loops have it. Without the second, how large the table is decides.
        cursor.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off")
    task = make_task(alpha, daily())
    run_task(alpha.id, task.id, None, actor=ACTOR)
    [row] = release()
    now = database_now()
    # PostgreSQL keeps all versions for the transaction that wrote them.
    for _ in range(100):
        TaskCursor.objects.filter(task=task).update(next_run_at=F("next_run_at") + timedelta(1))
    before = entries_read()
    assert TaskCursor.objects.get(task=task).last_execution_id is None
    by_task = entries_read() - before

    settling.settle([Settled(row.id, task.id, "SUCCEEDED", "schedule", 1, now)], [])

    assert by_task > 100
    assert entries_read() - before - by_task < 10
    assert TaskCursor.objects.get(task=task).last_execution_id == row.id
