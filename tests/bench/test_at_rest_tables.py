from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from bench.at_rest_tables import _FILL, PROJECTED, Index, Stored, Table, chunks, depth_of
from executions.loop.clocks import database_now
from tasks.models import Task, TaskRevision
from tests.factories import make_task, make_tenant, once


@pytest.mark.parametrize(
    ("entries", "per_leaf", "depth"),
    [
        (0, 100.0, 1),
        (100, 100.0, 1),
        (101, 100.0, 2),
        (20_000, 100.0, 2),
        (20_001, 100.0, 3),
        # Deduplicated leaves hold many more than the pages above them.
        (100_000_000, 1000.0, 4),
    ],
)
def test_a_tree_grows_by_a_page_when_the_one_above_is_full(entries, per_leaf, depth):
    assert depth_of(entries, per_leaf) == depth


def test_only_a_tree_with_entries_has_a_depth_at_another_size():
    assert Index("due", "btree", 8192, 1000, 10).depth_at(100.0) == 3
    assert Index("none", "btree", 8192, 0, 1).depth_at(100.0) is None
    assert Index("labels", "gin", 8192, 1000, 10).depth_at(100.0) is None


def test_a_hundred_million_are_projected_by_the_bytes_of_a_row():
    tasks = Table("tasks", 1_000_000, 600_000_000, 400_000_000)
    revisions = Table("task_revisions", 1_000_000, 900_000_000, 173_741_824)
    stored = Stored([tasks, revisions], [Index("due", "btree", 2**20, 1_000_000, 10_000, 3)])

    assert tasks.bytes_per_row == 1000
    assert stored.factor == 100
    lines = stored.lines()
    assert lines[0] == "tasks: 1000000 rows, 1000 bytes a row, 400 of them in indexes"
    assert lines[2].endswith("depth 3, at 100,000,000 tasks 4")
    assert lines[3] == "100,000,000 tasks by these bytes: 193 GiB"
    assert stored.as_json()["indexes"][0]["projected_depth"] == 4
    assert stored.as_json()["projected_tasks"] == PROJECTED


@pytest.mark.parametrize(
    ("first", "last", "parts"),
    [
        (1, 100_000, [(1, 100_000)]),
        (1, 250_000, [(1, 100_000), (100_001, 200_000), (200_001, 250_000)]),
        (100_001, 100_000, []),
    ],
)
def test_a_filling_is_done_in_parts_without_gap(first, last, parts):
    assert list(chunks(first, last)) == parts


@pytest.mark.django_db
def test_copies_wait_for_every_tenant_with_a_revision_each():
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    daily, single = make_task(alpha), make_task(alpha, once(database_now() + timedelta(days=1)))
    values = {"tenants": [alpha.id, beta.id], "samples": [daily.id, single.id]}

    with connection.cursor() as cursor:
        cursor.execute(_FILL, {**values, "first": 1, "last": 10})

    copies = Task.objects.filter(name__startswith="at rest")
    assert copies.count() == 10
    assert copies.filter(tenant=beta).count() == 5
    assert copies.filter(type="ONE_TIME").count() == 5
    soonest = database_now() + timedelta(days=29)
    assert not copies.filter(cursor__next_run_at__lt=soonest).exists()
    assert TaskRevision.objects.filter(task__in=copies, version=1).count() == 10
