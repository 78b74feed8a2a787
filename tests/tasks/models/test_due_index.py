"""What a look at the due tasks of a partition reads, where many were planned before them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection

from shared.sql import json_value
from tasks.models import Task
from tests.factories import make_task, make_tenant
from tests.support.waiting import until

_PARTITIONS, _OF_EACH, _PLANNED, _LOOK = 30, 400, 350, 4
_PARTITION = 7

#: One of each partition after the other, so that those of one lie on pages of their own.
_COPY = """
INSERT INTO tasks
SELECT (jsonb_populate_record(
    t, jsonb_build_object('id', uuidv7(), 'partition', number %% %s))).*
FROM tasks t, generate_series(1, %s) AS number
"""
_LOOKED_AT = """
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT t.id FROM tasks t
WHERE t.partition = %s AND t.status = 'SCHEDULED' AND t.next_run_at <= %s
ORDER BY t.next_run_at LIMIT %s
"""


def pages_read(instant: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LOOKED_AT, [_PARTITION, instant, _LOOK])
        [found] = json_value(cursor.fetchone()[0])
    assert found["Plan"]["Plans"][0]["Index Name"] == "tasks_due_idx"
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])


@pytest.mark.django_db(transaction=True)
def test_tasks_planned_before_are_not_visited_again():
    task = make_task(make_tenant("Alpha"))
    instant = task.next_run_at
    assert instant is not None
    with connection.cursor() as cursor:
        cursor.execute(_COPY, [_PARTITIONS, _PARTITIONS * _OF_EACH])
    due = Task.objects.filter(partition=_PARTITION).order_by("id").values_list("id", flat=True)
    Task.objects.filter(id__in=list(due[:_PLANNED])).update(next_run_at=instant + timedelta(days=1))

    # A look notes which entries lead to nothing any more, once no transaction sees what was there.
    until(lambda: pages_read(instant) < 20)
