from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.engine import planning
from executions.engine.planning import Due, plan_tasks

NOW = datetime(2027, 1, 1, 12, 0, 0, tzinfo=UTC)
HORIZON = NOW + timedelta(seconds=15)


def due(schedule: Any, *, at: datetime = NOW, **parts: Any) -> Due:
    defaults: dict[str, Any] = {
        "id": uuid4(),
        "tenant_id": uuid4(),
        "type": "RECURRING",
        "schedule": schedule,
        "next_run_at": at,
        "occurrence_count": 0,
        "created_at": NOW - timedelta(days=1),
        "resumed_at": None,
        "on_resume": "skip",
    }
    return Due(**{**defaults, **parts})


def test_a_plan_says_where_the_cursor_moves_from_and_to():
    task = due({"every": "PT1S"})

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert planned.readable
    assert (planned.task, planned.cursor) == (task.id, NOW)
    assert planned.next_run_at == HORIZON + timedelta(seconds=1)
    assert planned.occurrences == len(planned.rows) == 16


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"cron_expression": "nonsense"},
        {"every": 7},
        {"every": "PT1S", "max_occurrences": "three"},
        {"every": "PT1S", "jitter_seconds": "long"},
        [],
        "text",
        None,
        5,
    ],
)
def test_an_unreadable_schedule_is_said_to_be_and_stops_nobody(schedule: Any):
    good = due({"every": "PT1S"})

    broken, planned = plan_tasks([due(schedule), good], NOW, HORIZON)

    assert not broken.readable
    assert not broken.rows
    assert planned.readable


def test_no_more_is_planned_than_one_transaction_should_hold(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "_ROWS", 20)

    planned = plan_tasks([due({"every": "PT1S"}) for _ in range(5)], NOW, HORIZON)

    assert len(planned) == 2


def test_planning_ends_before_the_transaction_times_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "_SECONDS", -1.0)

    assert len(plan_tasks([due({"every": "PT1S"}) for _ in range(5)], NOW, HORIZON)) == 1


def test_jitter_stays_before_the_next_instant():
    (planned,) = plan_tasks([due({"every": "PT1S", "jitter_seconds": 60})], NOW, HORIZON)

    assert all(timedelta(0) <= row.due - row.at < timedelta(seconds=1) for row in planned.rows)


def test_an_unknown_way_to_resume_is_unreadable():
    task = due({"every": "PT1S"}, resumed_at=NOW, on_resume="backwards")

    assert not plan_tasks([task], NOW, HORIZON)[0].readable


def test_instants_after_the_resumption_are_no_part_of_the_pause():
    task = due({"every": "PT1S"}, resumed_at=NOW - timedelta(seconds=1))

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert {row.reason for row in planned.rows} == {""}
