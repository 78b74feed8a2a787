from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.materialize import planning
from executions.materialize.planning import Due, Planned, plan_tasks
from executions.ownership.partitions import Unowned
from shared.instants import format_instant
from tasks.definition import ONE_TIME_SCHEDULE_DEFAULTS
from tasks.schedules.spec import Spec, parse
from tests.tasks.schedules.misfire_oracle import ExcludingSpec

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


def once(at: datetime = NOW, **schedule: Any) -> dict[str, Any]:
    return {**ONE_TIME_SCHEDULE_DEFAULTS, "run_at": format_instant(at), **schedule}


def test_a_task_without_a_schedule_is_unreadable():
    task = due(None, type="ONE_TIME")

    assert not plan_tasks([task], NOW, HORIZON)[0].readable


def test_a_plain_task_whose_instant_fell_into_an_outage_is_judged_by_it():
    held = {0: Unowned(NOW - timedelta(seconds=60), NOW)}
    plain = due(once(NOW - timedelta(seconds=20)), at=NOW - timedelta(seconds=20), type="ONE_TIME")

    (planned,) = plan_tasks([plain], NOW, HORIZON, held)

    assert [row.status for row in planned.rows] == ["PENDING"]


def replay_of(planned: Planned) -> list[float]:
    """Return when the replayed instants are due, in seconds from now."""
    rows = [row for row in planned.rows if row.reason.endswith("_replayed")]
    assert all(row.at < NOW for row in rows)
    return [(row.due - NOW).total_seconds() for row in rows]


def missed(policy: str = "replay", *, since: int = 5, **parts: Any) -> Due:
    """Return a task of every minute with so many missed instants, and one right now."""
    start = NOW - timedelta(minutes=since)
    schedule = {"every": "PT1M", "misfire_policy": policy, **parts.pop("schedule", {})}
    return due(schedule, at=start, created_at=start, **parts)


def test_a_replay_is_spaced_from_now_on_in_the_order_of_time():
    (planned,) = plan_tasks([missed()], NOW, HORIZON)

    assert replay_of(planned) == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert [row.at for row in planned.rows] == sorted(row.at for row in planned.rows)
    assert planned.replayed_until == NOW + timedelta(seconds=0.4)


def test_an_instant_that_comes_during_a_replay_is_due_at_its_own_time():
    task = missed(schedule={"misfire_replay_per_second": 0.01})

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert replay_of(planned) == [0, 100, 200, 300, 400]
    assert [(row.at, row.due, row.reason) for row in planned.rows[5:]] == [(NOW, NOW, "")]


@pytest.mark.parametrize(
    ("last_due", "first"),
    [(timedelta(hours=1), 3600.5), (timedelta(seconds=-0.2), 0.3), (timedelta(hours=-1), 0.0)],
)
def test_a_replay_goes_on_after_the_last_one_at_its_pace(last_due: timedelta, first: float):
    task = missed(since=2, schedule={"misfire_replay_per_second": 2}, replayed_until=NOW + last_due)

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert replay_of(planned) == [first, first + 0.5]


@pytest.mark.parametrize(("ahead", "kept"), [(60, True), (-60, False)])
def test_the_end_of_a_replay_is_forgotten_once_it_has_passed(ahead: int, kept: bool):
    until = NOW + timedelta(seconds=ahead)

    (planned,) = plan_tasks([due({"every": "PT1S"}, replayed_until=until)], NOW, HORIZON)

    assert planned.replayed_until == (until if kept else None)


def test_jitter_does_not_bend_the_pace_of_a_replay():
    # The last one missed is due twenty seconds ago at the latest, whichever share the task has.
    (planned,) = plan_tasks([missed(schedule={"jitter_seconds": 40})], NOW, HORIZON)

    assert replay_of(planned) == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_the_policy_of_a_pause_replays_at_the_same_pace_and_within_the_same_limit():
    task = missed(
        "skip",
        resumed_at=NOW - timedelta(seconds=30),
        on_resume="replay",
        schedule={"misfire_replay_per_second": 0.5, "misfire_replay_limit": 3},
    )

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert [row.reason for row in planned.rows] == ["paused"] * 2 + ["paused_replayed"] * 3
    assert replay_of(planned) == [0, 2, 4]
    assert planned.next_run_at == NOW


def test_a_pause_runs_the_earliest_where_the_schedule_coalesces_onto_it():
    task = missed(
        resumed_at=NOW - timedelta(seconds=30),
        on_resume="run_once",
        schedule={"misfire_coalesce": "earliest"},
    )

    (planned,) = plan_tasks([task], NOW, HORIZON)

    assert [row.status for row in planned.rows] == ["PENDING"] + ["SKIPPED"] * 4
    assert {row.reason for row in planned.rows} == {"paused_coalesced"}


def test_a_plan_that_goes_on_knows_that_the_earliest_has_run():
    task = due(
        {"cron_expression": "* * * * * *", "misfire_coalesce": "earliest"},
        at=NOW - timedelta(days=1),
    )
    (first,) = plan_tasks([task], NOW, HORIZON)
    assert first.next_run_at is not None
    assert first.replayed_until == first.next_run_at

    (second,) = plan_tasks(
        [replace(task, next_run_at=first.next_run_at, replayed_until=first.replayed_until)],
        NOW,
        HORIZON,
    )

    assert [row.reason for row in first.rows if row.status == "PENDING"] == ["misfire_coalesced"]
    assert not [row for row in second.rows if row.status == "PENDING"]


def test_an_excluded_instant_is_a_row_that_does_not_run():
    spec = ExcludingSpec(minute_spec(), lambda at: at.minute == 58)

    (planned,) = plan_tasks([missed()], NOW, HORIZON, spec_of=lambda *_: spec)

    excluded = [row for row in planned.rows if row.reason == "calendar_excluded"]
    assert [(row.at.minute, row.status) for row in excluded] == [(58, "SKIPPED")]
    assert replay_of(planned) == pytest.approx([0.0, 0.1, 0.2, 0.3])


def test_what_a_calendar_excludes_in_a_pause_says_so():
    spec = ExcludingSpec(minute_spec(), lambda at: at.minute == 58)
    task = missed(resumed_at=NOW - timedelta(seconds=30), on_resume="skip")

    (planned,) = plan_tasks([task], NOW, HORIZON, spec_of=lambda *_: spec)

    assert [row.reason for row in planned.rows].count("calendar_excluded") == 1
    assert [row.reason for row in planned.rows].count("paused") == 4


def minute_spec() -> Spec:
    return parse("RECURRING", {"every": "PT1M"}, anchor=NOW - timedelta(hours=1))
