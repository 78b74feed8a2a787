from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from insight.explain.evidence import Situation
from insight.occurrences import place_of, read_occurrences
from tests.factories import every_second, executions_of, make_task, make_tenant, prepare

pytestmark = pytest.mark.django_db


def test_a_page_of_the_ledger_reads_the_days_of_its_range(plans: Any):
    task = make_task(make_tenant("Alpha"), every_second())
    prepare()
    now = database_now()
    place = place_of(task, since=now - timedelta(hours=1), until=now, cursor=None, now=now)

    with plans() as found:
        read_occurrences(task, place, 20, now=now)

    found.check("occurrences/rows_between")
    # A span may have begun long before: by index alone, newest first.
    for plan in found.found["occurrences/spans_over"]:
        assert not {table for table in plan.read_whole if table.startswith("executions_2")}


def test_a_line_at_the_gate_is_counted_without_the_history(plans: Any):
    task = make_task(make_tenant("Alpha"), every_second(schedule={"every": "PT1S"}))
    prepare()
    row, now = executions_of(task)[0], database_now()

    with plans() as found:
        assert Situation(task, row.scheduled_for, now, row).before_in_line == 0
        assert Situation(task, row.scheduled_for, now, row).owner is not None

    found.check("explain/before_in_line", "explain/partition")
