from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from insight.statistics import of_task
from insight.statistics.of_task import WINDOWS, history_of
from tasks.models import Task
from tasks.versions import FIRST_OF_STEPS
from tenants.models import Tenant
from tests.factories import daily, make_task
from tests.support.ended_rows import ended
from tests.support.limits_world import limit
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db

#: Minutes ago, state, start delay, duration and further fields of each execution.
ROWS: tuple[tuple[int, str, float, float, dict[str, Any]], ...] = (
    (3, "SUCCEEDED", 5, 40, {}),
    (4, "SUCCEEDED", 9, 900, {}),
    (5, "FAILED", 7, 30_000, {"error_code": "timeout", "response_status": None}),
    (200, "FAILED", 1, 12, {}),
    (201, "FAILED", 2, 14, {}),
    (202, "FAILED", 3, 10, {"response_status": 500}),
    (600, "SUCCEEDED", 4_000, 35, {}),
    (601, "CANCELLED", 0, 0, {}),
    (602, "SKIPPED", 0, 0, {"reason": "overlap_skipped"}),
)


@pytest.fixture
def task(alpha: Tenant) -> Task:
    """Return a task with these executions, a step's and a skipped stretch, beside another task."""
    made, other = make_task(alpha, daily()), make_task(alpha, daily())
    now = database_now()
    for minutes, status, delay, took, parts in ROWS:
        at = now - timedelta(minutes=minutes)
        ended(made, at, status, delay_ms=delay, took_ms=took, **parts)
        ended(other, at)
    ended(made, now - timedelta(minutes=8), revision=FIRST_OF_STEPS + 4097)
    ended(made, now - timedelta(minutes=9), "SKIPPED", span_count=7, span_last=now)
    ended(made, now - timedelta(days=9))
    return made


def _rank(values: Sequence[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


@recounts("task.ended", "task.results", "task.success_share", "task.percentiles")
@recounts("task.part_seconds")
def test_the_whole_and_its_parts_are_what_the_rows_say(task: Task):
    found = history_of(task, "24h")

    total = found.total
    assert (total.ended, total.succeeded, total.failed) == (9, 3, 4)
    assert total.success_share == pytest.approx(3 / 7)
    ran = [row for row in ROWS if row[1] in ("SUCCEEDED", "FAILED")]
    delays, took = [row[2] for row in ran], [row[3] for row in ran]
    assert (total.start_delay_ms.p50, total.start_delay_ms.p95) == (
        _rank(delays, 0.5),
        _rank(delays, 0.95),
    )
    assert (total.duration_ms.p50, total.duration_ms.p95) == (_rank(took, 0.5), _rank(took, 0.95))
    assert sum(part.figures.ended for part in found.parts) == 9
    assert sum(part.figures.failed for part in found.parts) == 4
    starts = [part.start for part in found.parts]
    step = timedelta(seconds=found.part_seconds)
    assert step == timedelta(hours=1)
    assert starts == [starts[0] + number * step for number in range(len(starts))]
    assert starts[0] <= found.since < starts[1]
    assert starts[-1] <= found.until < starts[-1] + step


@recounts("task.cause")
def test_failures_are_counted_by_code_and_answer_the_most_frequent_first(task: Task):
    causes = history_of(task, "24h").causes

    assert [(one.error_code, one.response_status, one.count) for one in causes] == [
        ("http_status", 503, 2),
        ("http_status", 500, 1),
        ("timeout", None, 1),
    ]
    assert causes[0].last_at < causes[2].last_at


def test_a_window_is_as_long_as_it_says(task: Task):
    week, month = history_of(task, "7d"), history_of(task, "30d")

    assert (week.total.ended, month.total.ended) == (9, 10)
    assert {one.until - one.window_from for one in (week, month)} == {WINDOWS["7d"], WINDOWS["30d"]}
    assert all(len(one.parts) <= 31 for one in (week, month))


def test_a_window_begins_no_earlier_than_the_tenant_keeps_its_history(task: Task):
    limit(task.tenant, retention_days=3)

    found = history_of(task, "7d")

    assert found.until - found.window_from == timedelta(days=3)


def test_of_more_than_the_bound_the_newest_are_counted_and_it_says_so(
    task: Task, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(of_task, "MOST_ROWS", 3)

    found = history_of(task, "24h")

    assert not found.complete
    assert found.total.ended == 3
    assert found.until - found.since == pytest.approx(
        timedelta(minutes=5), abs=timedelta(seconds=30)
    )
    assert found.part_seconds == 15


def test_a_task_that_never_ran_has_empty_figures(alpha: Tenant):
    found = history_of(make_task(alpha, daily()))

    assert found.complete
    assert (found.total.ended, found.total.success_share, found.causes) == (0, None, [])
    assert found.total.duration_ms.p95 is None
