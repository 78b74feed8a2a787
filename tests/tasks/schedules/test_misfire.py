from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules.misfire import Plan, plan
from tests.tasks.schedules.instants import cron, every, once, utc

NOW = utc("2026-11-20 12:00")


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def ask(
    spec, *, missed: float, policy: str = "coalesce", grace: float | None = None, **more
) -> Plan:
    """Plan with a cursor that many seconds ago and a horizon of 15 s."""
    return plan(
        spec,
        cursor=NOW - seconds(missed),
        now=NOW,
        horizon=NOW + seconds(15),
        policy=policy,
        grace_seconds=grace,
        **more,
    )


def rows(made: Plan) -> list[tuple[float, bool, str]]:
    """Return the rows as (seconds from now, runs, reason)."""
    return [((row.at - NOW).total_seconds(), row.run, row.reason) for row in made.rows]


def minutely():
    return every("PT1M", start="2026-11-20 00:00")


def test_instants_up_to_the_horizon_run_on_time():
    made = ask(every("PT5S", start="2026-11-20 00:00"), missed=-5)

    assert rows(made) == [(5, True, ""), (10, True, ""), (15, True, "")]
    assert made.next_run_at == NOW + seconds(20)
    assert made.occurrences == 3


def test_nothing_is_planned_before_its_horizon():
    made = ask(every("PT1H", start="2026-11-20 12:30"), missed=0)

    assert made == Plan([], [], utc("2026-11-20 12:30"), 0)


def test_instants_up_to_fifteen_seconds_late_just_run():
    made = ask(every("PT5S", start="2026-11-20 00:00"), missed=15, policy="skip")

    assert rows(made)[:3] == [(-15, True, ""), (-10, True, ""), (-5, True, "")]


def test_coalesce_runs_the_latest_missed_instant_and_skips_the_others():
    made = ask(minutely(), missed=240)

    assert rows(made) == [
        (-240, False, "misfire_coalesced"),
        (-180, False, "misfire_coalesced"),
        (-120, False, "misfire_coalesced"),
        (-60, True, "misfire_coalesced"),
        (0, True, ""),
    ]
    assert made.next_run_at == NOW + seconds(60)


def test_skip_drops_every_missed_instant():
    made = ask(minutely(), missed=120, policy="skip")

    assert rows(made) == [
        (-120, False, "misfire_skipped"),
        (-60, False, "misfire_skipped"),
        (0, True, ""),
    ]


def test_replay_runs_each_missed_instant_oldest_first():
    made = ask(minutely(), missed=120, policy="replay")

    assert rows(made) == [
        (-120, True, "misfire_replayed"),
        (-60, True, "misfire_replayed"),
        (0, True, ""),
    ]


@pytest.mark.parametrize(
    ("policy", "within"),
    [
        ("coalesce", [(-120, False, "misfire_coalesced"), (-60, True, "misfire_coalesced")]),
        ("skip", [(-120, False, "misfire_skipped"), (-60, False, "misfire_skipped")]),
        ("replay", [(-120, True, "misfire_replayed"), (-60, True, "misfire_replayed")]),
    ],
)
def test_instants_beyond_the_grace_are_skipped_whatever_the_policy(policy, within):
    made = ask(minutely(), missed=240, policy=policy, grace=120)

    assert rows(made) == [
        (-240, False, "misfire_grace_exceeded"),
        (-180, False, "misfire_grace_exceeded"),
        *within,
        (0, True, ""),
    ]


def test_a_grace_shorter_than_being_late_drops_nothing_that_is_not_missed():
    made = ask(every("PT5S", start="2026-11-20 00:00"), missed=10, grace=0)

    assert all(row.run for row in made.rows)


@pytest.mark.parametrize("policy", ["coalesce", "skip", "replay"])
def test_a_one_time_task_is_never_dropped_for_being_late(policy):
    made = ask(once("2026-11-01 00:00"), missed=40 * 86_400, policy=policy)

    assert [(row.run, row.reason) for row in made.rows] == [(True, "")]
    assert made.next_run_at is None


def test_a_one_time_task_with_an_explicit_grace_is_dropped_after_it():
    made = ask(once("2026-11-20 11:00"), missed=7200, grace=600)

    assert rows(made) == [(-3600, False, "misfire_grace_exceeded")]


def test_a_hundred_skipped_instants_are_rows_and_one_more_makes_a_span():
    hundred = ask(minutely(), missed=101 * 60)
    assert (len(hundred.rows), hundred.spans) == (102, [])

    more = ask(minutely(), missed=102 * 60)
    (span,) = more.spans
    assert (span.count, span.reason) == (101, "misfire_coalesced")
    assert (span.first, span.last) == (NOW - seconds(102 * 60), NOW - seconds(120))
    assert rows(more) == [(-60, True, "misfire_coalesced"), (0, True, "")]
    assert more.occurrences == 103


def test_a_week_of_seconds_costs_one_span_and_no_time():
    began = time.perf_counter()
    made = ask(every("PT1S", start="2026-11-01 00:00"), missed=7 * 86_400)

    (span,) = made.spans
    assert span.count == 7 * 86_400 - 16
    assert rows(made)[0] == (-16, True, "misfire_coalesced")
    assert made.occurrences == 7 * 86_400 + 16
    assert time.perf_counter() - began < 0.1


def test_each_reason_has_its_own_span():
    made = ask(every("PT1S", start="2026-11-01 00:00"), missed=86_400, policy="skip", grace=3600)

    assert [(span.count, span.reason) for span in made.spans] == [
        (86_400 - 3600, "misfire_grace_exceeded"),
        (3600 - 15, "misfire_skipped"),
    ]


def test_a_long_cron_backlog_is_worked_off_in_chunks_and_only_the_latest_runs():
    spec = cron("* * * * * *")
    cursor: datetime | None = NOW - seconds(86_400)
    spans, ran, calls = [], [], 0
    while cursor and cursor <= NOW + seconds(15):
        calls += 1
        made = plan(
            spec,
            cursor=cursor,
            now=NOW,
            horizon=NOW + seconds(15),
            policy="coalesce",
            grace_seconds=None,
        )
        spans += made.spans
        ran += [row for row in made.rows if row.reason]
        cursor = made.next_run_at

    assert calls == 5
    assert sum(span.count for span in spans) == 86_400 - 16
    assert [((row.at - NOW).total_seconds(), row.run) for row in ran] == [(-16, True)]


def test_the_limit_is_kept_and_the_next_call_goes_on():
    first = ask(minutely(), missed=600, policy="replay", limit=4)

    assert len(first.rows) == 4
    assert first.next_run_at == NOW - seconds(600 - 240)


def test_no_more_occurrences_than_remain_are_used():
    made = ask(minutely(), missed=240, remaining=3)

    # The third and last occurrence is the latest missed one.
    assert rows(made) == [
        (-240, False, "misfire_coalesced"),
        (-180, False, "misfire_coalesced"),
        (-120, True, "misfire_coalesced"),
    ]
    assert made.next_run_at is None
    assert made.occurrences == 3


def test_a_task_without_remaining_occurrences_is_done():
    assert ask(minutely(), missed=240, remaining=0) == Plan([], [], None, 0)


def test_a_span_stops_at_the_remaining_occurrences():
    made = ask(every("PT1S", start="2026-11-01 00:00"), missed=86_400, policy="skip", remaining=500)

    assert [span.count for span in made.spans] == [500]
    assert made.next_run_at is None


def test_the_end_of_the_schedule_ends_the_plan():
    spec = every("PT1M", start="2026-11-20 00:00", end_at="2026-11-20T11:59:00Z")

    made = ask(spec, missed=120, policy="replay")

    assert [row[0] for row in rows(made)] == [-120, -60]
    assert made.next_run_at is None


def test_a_horizon_in_the_past_bounds_every_policy():
    made = plan(
        minutely(),
        cursor=NOW - seconds(600),
        now=NOW,
        horizon=NOW - seconds(300),
        policy="coalesce",
        grace_seconds=60,
    )

    assert {row.reason for row in made.rows} == {"misfire_grace_exceeded"}
    assert made.next_run_at == NOW - seconds(240)


def test_an_unknown_policy_is_an_error():
    with pytest.raises(ValueError, match="unknown misfire policy"):
        ask(minutely(), missed=0, policy="sometimes")


SPECS = [
    every("PT1S", start="2026-11-20 00:00"),
    every("PT7S", start="2026-11-20 00:00"),
    minutely(),
    cron("*/5 * * * * *"),
    cron("* * * * *"),
    once("2026-11-20 11:58"),
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SPECS),
    st.integers(-20, 4000),
    st.sampled_from(["coalesce", "skip", "replay"]),
    st.none() | st.integers(0, 4000),
    st.integers(1, 300),
    st.none() | st.integers(1, 2000),
)
def test_every_instant_is_accounted_for_exactly_once(spec, missed, policy, grace, limit, remaining):
    start, horizon = NOW - seconds(missed), NOW + seconds(15)
    expected = [o.at for o in spec.between(start - seconds(1e-6), horizon, remaining or 10**6)]
    accounted, runs, left = [], [], remaining
    cursor: datetime | None = start

    while cursor and cursor <= horizon:
        made = plan(
            spec,
            cursor=cursor,
            now=NOW,
            horizon=horizon,
            policy=policy,
            grace_seconds=grace,
            limit=limit,
            remaining=left,
        )
        assert len(made.rows) + len(made.spans) <= limit
        assert made.occurrences == len(made.rows) + sum(span.count for span in made.spans)
        stretches = [
            [o.at for o in spec.between(span.first - seconds(1e-6), span.last, 10**6)]
            for span in made.spans
        ]
        assert [len(stretch) for stretch in stretches] == [span.count for span in made.spans]
        accounted += [row.at for row in made.rows] + [at for stretch in stretches for at in stretch]
        runs += [row for row in made.rows if row.run]
        left = None if left is None else left - made.occurrences
        cursor = made.next_run_at

    assert sorted(accounted) == expected
    assert len([row for row in runs if row.reason == "misfire_coalesced"]) <= 1
