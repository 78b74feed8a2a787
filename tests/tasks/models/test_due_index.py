"""What a look at the due tasks of a partition reads, where many were planned before them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction

from shared.sql import json_value
from tasks.models import TaskCursor
from tests.factories import make_task, make_tenant
from tests.support.waiting import until

_PARTITIONS, _OF_EACH, _PLANNED, _LOOK = 30, 400, 350, 4
_PARTITION = 7

#: One of each partition after the other, so that those of one lie on pages of their own.
_COPY = """
INSERT INTO task_cursors
SELECT (jsonb_populate_record(
    k, jsonb_build_object('task_id', uuidv7(), 'partition', number %% %s))).*
FROM task_cursors k, generate_series(1, %s) AS number
"""
_LOOKED_AT = """
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT k.task_id FROM task_cursors k
WHERE k.partition = %s AND NOT k.held AND k.execution_id IS NULL
  AND k.next_run_at <= %s
ORDER BY k.next_run_at LIMIT %s
"""


def pages_read(instant: datetime) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        # What is counted of the table is that of any test before; the index has the order.
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(_LOOKED_AT, [_PARTITION, instant, _LOOK])
        [found] = json_value(cursor.fetchone()[0])
    assert found["Plan"]["Plans"][0]["Index Name"] == "task_cursors_due_idx"
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])


@pytest.mark.django_db(transaction=True)
def test_tasks_planned_before_are_not_visited_again():
    task = make_task(make_tenant("Alpha"))
    instant = task.next_run_at
    assert instant is not None
    with connection.cursor() as cursor:
        cursor.execute(_COPY, [_PARTITIONS, _PARTITIONS * _OF_EACH])
    due = TaskCursor.objects.filter(partition=_PARTITION).order_by("task_id")
    planned = TaskCursor.objects.filter(pk__in=list(due.values_list("pk", flat=True)[:_PLANNED]))
    planned.update(next_run_at=instant + timedelta(days=1))

    # A look notes which entries lead to nothing any more, once no transaction sees what was there.
    until(lambda: pages_read(instant) < 20, timeout=120)
