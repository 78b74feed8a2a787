from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules.misfire import Plan, plan
from tests.support.effort import within_processor_seconds
from tests.tasks.schedules.instants import cron, every, once, utc
from tests.tasks.schedules.misfire_oracle import ExcludingSpec, decide, plan_all

NOW = utc("2026-11-20 12:00")
WEEK = 7 * 86_400


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


def outage(length: float, **asked: Any) -> dict[str, Any]:
    """Return what is asked after nobody has looked for so many seconds."""
    return {
        "cursor": NOW - seconds(length),
        "now": NOW,
        "horizon": NOW + seconds(15),
        "policy": "coalesce",
        "grace_seconds": None,
        **asked,
    }


def minutely():
    return every("PT1M", start="2026-10-01 00:00")


def excluding(spec, excludes):
    return ExcludingSpec(spec, excludes)


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
    with within_processor_seconds(10):
        ask(every("PT1S", start="1926-11-01 00:00"), missed=100 * 365 * 86_400)
        made = ask(every("PT1S", start="2026-11-01 00:00"), missed=7 * 86_400)

    (span,) = made.spans
    assert span.count == 7 * 86_400 - 16
    assert rows(made)[0] == (-16, True, "misfire_coalesced")
    assert made.occurrences == 7 * 86_400 + 16


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


def test_an_unknown_instant_to_coalesce_onto_is_an_error():
    with pytest.raises(ValueError, match="unknown instant"):
        ask(minutely(), missed=0, coalesce="middle")


def test_coalesce_runs_the_earliest_missed_instant_where_asked():
    made = ask(minutely(), missed=180, coalesce="earliest")

    assert rows(made) == [
        (-180, True, "misfire_coalesced"),
        (-120, False, "misfire_coalesced"),
        (-60, False, "misfire_coalesced"),
        (0, True, ""),
    ]
    assert not made.caught_up


def test_the_earliest_within_the_grace_stands_for_the_others():
    made = ask(minutely(), missed=240, coalesce="earliest", grace=120)

    assert [row[0] for row in rows(made) if row[1]] == [-120, 0]


def test_a_long_stretch_is_coalesced_onto_its_earliest_instant_once():
    entries, plans = plan_all(cron("* * * * * *"), **outage(86_400, coalesce="earliest"))

    assert len(plans) > 1
    assert all(made.caught_up for made in plans[:-1])
    assert not plans[-1].caught_up
    ran = [(at - NOW).total_seconds() for at, run, reason in entries if run and reason]
    assert ran == [-86_400]


def test_only_the_last_missed_instants_are_replayed_within_the_limit():
    made = ask(minutely(), missed=240, policy="replay", replay_limit=2)

    assert rows(made) == [
        (-240, False, "misfire_skipped"),
        (-180, False, "misfire_skipped"),
        (-120, True, "misfire_replayed"),
        (-60, True, "misfire_replayed"),
        (0, True, ""),
    ]


@pytest.mark.parametrize("limit", [4, 5, 10**9])
def test_a_replay_limit_that_is_not_reached_skips_nothing(limit):
    made = ask(minutely(), missed=240, policy="replay", replay_limit=limit)

    assert [row[2] for row in rows(made)] == ["misfire_replayed"] * 4 + [""]


def test_what_is_older_than_a_replays_limit_is_one_span():
    made = ask(minutely(), missed=3 * WEEK, policy="replay", replay_limit=3)

    (span,) = made.spans
    assert (span.count, span.reason) == (3 * WEEK // 60 - 3, "misfire_skipped")
    assert [row[0] for row in rows(made) if row[2]] == [-180, -120, -60]


def test_an_excluded_instant_does_not_run_on_time():
    made = ask(excluding(every("PT5S"), lambda at: at.second == 5), missed=0)

    assert rows(made) == [
        (0, True, ""),
        (5, False, "calendar_excluded"),
        (10, True, ""),
        (15, True, ""),
    ]


@pytest.mark.parametrize(("which", "ran"), [("latest", -120), ("earliest", -240)])
def test_an_excluded_instant_never_stands_for_others(which, ran):
    spec = excluding(minutely(), lambda at: at.minute in (55, 59))

    made = ask(spec, missed=300, coalesce=which)

    found = rows(made)
    assert [row for row in found if row[2] == "calendar_excluded"] == [
        (-300, False, "calendar_excluded"),
        (-60, False, "calendar_excluded"),
    ]
    assert [row[0] for row in found if row[1]] == [ran, 0]


@pytest.mark.parametrize("policy", ["coalesce", "skip", "replay"])
def test_where_all_is_excluded_nothing_runs(policy):
    made = ask(excluding(minutely(), lambda at: True), missed=300, policy=policy)

    assert {row[1:] for row in rows(made)} == {(False, "calendar_excluded")}


def test_a_replays_limit_counts_what_is_not_excluded():
    spec = excluding(minutely(), lambda at: at.minute % 2 == 1)

    made = ask(spec, missed=600, policy="replay", replay_limit=2)

    assert [row[0] for row in rows(made) if row[2] == "misfire_replayed"] == [-240, -120]
    assert [row[0] for row in rows(made) if row[2] == "misfire_skipped"] == [-600, -480, -360]


@pytest.mark.parametrize("policy", ["coalesce", "skip", "replay"])
def test_a_long_excluded_stretch_is_a_span_of_its_own(policy):
    spec = excluding(minutely(), lambda at: at < NOW - seconds(3600))

    made = ask(spec, missed=WEEK, policy=policy)

    assert made.spans[0].reason == "calendar_excluded"
    assert made.spans[0].count == WEEK // 60 - 60


def test_the_latest_beyond_what_one_call_walks_is_found_behind_a_holiday():
    spec = excluding(minutely(), lambda at: at > NOW - seconds(2 * 86_400))
    spec.count_chunk = 100

    entries, _ = plan_all(spec, **outage(4 * 86_400))

    ran = [(at - NOW).total_seconds() for at, run, _ in entries if run]
    assert ran == [-2 * 86_400]


def test_an_excluded_one_time_task_is_accounted_for_and_over():
    made = ask(excluding(once("2026-11-20 11:00"), lambda at: True), missed=7200)

    assert rows(made) == [(-3600, False, "calendar_excluded")]
    assert made.next_run_at is None


def test_excluded_instants_count_as_occurrences():
    spec = excluding(minutely(), lambda at: at.minute == 57)

    made = ask(spec, missed=240, policy="replay", remaining=3)

    assert [row[1] for row in rows(made)] == [True, False, True]
    assert made.next_run_at is None


OUTAGES = {"10 s": 10, "1 min": 60, "2 h": 7200, "3 weeks": 3 * WEEK}
KINDS = {
    "every second": every("PT1S", start="2026-10-01 00:00"),
    "each second": cron("* * * * * *"),
    "every minute": cron("* * * * *"),
    "hourly": cron("0 * * * *", "Europe/Berlin"),
    "daily": cron("30 8 * * *", "America/New_York"),
}
POLICIES = [
    {"policy": "skip"},
    {"policy": "coalesce"},
    {"policy": "coalesce", "coalesce": "earliest"},
    {"policy": "replay", "replay_limit": 7},
]
BOUNDS = [
    {},
    {"grace_seconds": 0},
    {"grace_seconds": 3600},
    {"remaining": 5},
    {"remaining": 0},
]


@pytest.mark.parametrize("length", OUTAGES.values(), ids=OUTAGES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: "-".join(map(str, policy.values())))
def test_after_an_outage_every_instant_is_accounted_for_as_its_policy_says(length, kind, policy):
    # The slow way takes its time for a million seconds.
    long = length > 86_400 and kind.next_after(NOW).at < NOW + seconds(2)
    for bound in BOUNDS[3:] if long else BOUNDS:
        asked = outage(length, **policy, **bound)

        entries, _ = plan_all(kind, **asked)

        assert entries == decide(kind, **asked), bound


@pytest.mark.parametrize("policy", [*POLICIES, {"policy": "replay"}], ids=str)
def test_a_schedule_that_ended_in_the_outage_is_accounted_for_up_to_its_end(policy):
    spec = every("PT1M", start="2026-11-20 00:00", end_at="2026-11-20T11:30:00Z")

    entries, plans = plan_all(spec, **outage(7200, **policy))

    assert entries == decide(spec, **outage(7200, **policy))
    assert entries[-1][0] == utc("2026-11-20 11:30")
    assert plans[-1].next_run_at is None


SPECS = [
    lambda: every("PT1S", start="2026-11-20 00:00"),
    lambda: every("PT7S", start="2026-11-20 00:00"),
    minutely,
    lambda: cron("*/5 * * * * *"),
    lambda: cron("* * * * *"),
    lambda: once("2026-11-20 11:58"),
]
EXCLUSIONS = {
    "nothing": None,
    "an hour": lambda at: at.hour == 11,
    "odd minutes": lambda at: at.minute % 2 == 1,
    "the last minutes": lambda at: at >= NOW - seconds(400),
    "some seconds": lambda at: at.second % 3 == 0,
    "all": lambda at: True,
}


@settings(max_examples=300)
@given(
    made=st.sampled_from(SPECS),
    exclusion=st.sampled_from(list(EXCLUSIONS)),
    chunk=st.none() | st.integers(101, 400),
    missed=st.integers(-20, 4000),
    policy=st.sampled_from(["coalesce", "skip", "replay"]),
    which=st.sampled_from(["latest", "earliest"]),
    replay_limit=st.none() | st.integers(1, 500),
    grace=st.none() | st.integers(0, 4000),
    limit=st.integers(1, 300),
    remaining=st.none() | st.integers(0, 2000),
)
def test_every_instant_is_accounted_for_exactly_once_as_a_slow_oracle_says(
    made, exclusion, chunk, missed, policy, which, replay_limit, grace, limit, remaining
):
    excludes = EXCLUSIONS[exclusion]
    spec = excluding(made(), excludes) if excludes else made()
    if chunk:
        spec.count_chunk = chunk
    asked = outage(
        missed,
        policy=policy,
        coalesce=which,
        replay_limit=replay_limit,
        grace_seconds=grace,
        remaining=remaining,
    )

    entries, plans = plan_all(spec, limit=limit, **asked)

    assert entries == decide(spec, **asked)
    assert all(len(plan.rows) + len(plan.spans) <= limit for plan in plans)
