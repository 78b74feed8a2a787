from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules import zones
from tasks.schedules.zones import EPOCH, LAST_SECOND, find_zone
from tests.support import slow_cron
from tests.tasks.schedules.instants import cron, fires, next_at, utc

GAPS = ("next_valid", "skip", "before")
OVERLAPS = ("first", "second", "both")

# zone, days around the change, expression, policy, expected instants in UTC
GAP_TABLE = [
    # New York 2027-03-14: 02:00 EST becomes 03:00 EDT at 07:00 UTC.
    ("America/New_York", "2027-03-14", "30 2 * * *", "next_valid", ["03-14 07:00"]),
    ("America/New_York", "2027-03-14", "30 2 * * *", "skip", []),
    ("America/New_York", "2027-03-14", "30 2 * * *", "before", ["03-14 06:59"]),
    ("America/New_York", "2027-03-14", "0 30 2 * * *", "before", ["03-14 06:59:59"]),
    ("America/New_York", "2027-03-14", "0 2 * * *", "next_valid", ["03-14 07:00"]),
    ("America/New_York", "2027-03-14", "0 3 * * *", "next_valid", ["03-14 07:00"]),
    ("America/New_York", "2027-03-14", "0,30 2 * * *", "next_valid", ["03-14 07:00"]),
    (
        "America/New_York",
        "2027-03-14",
        "30 2,3 * * *",
        "next_valid",
        ["03-14 07:00", "03-14 07:30"],
    ),
    ("America/New_York", "2027-03-14", "0 2,3 * * *", "next_valid", ["03-14 07:00"]),
    ("America/New_York", "2027-03-14", "59 1,2 * * *", "before", ["03-14 06:59"]),
    ("America/New_York", "2027-03-14", "30 1,2 * * *", "before", ["03-14 06:30", "03-14 06:59"]),
    ("America/New_York", "2027-03-14", "*/30 2 * * *", "next_valid", []),
    ("America/New_York", "2027-03-14", "*/30 2 * * *", "before", []),
    # Paris 2027-03-28: 02:00 becomes 03:00 at 01:00 UTC.
    ("Europe/Paris", "2027-03-28", "15 2 * * *", "next_valid", ["03-28 01:00"]),
    ("Europe/Paris", "2027-03-28", "15 2 * * *", "before", ["03-28 00:59"]),
    # Lord Howe 2027-10-03: 02:00 becomes 02:30 at 15:30 UTC of the day before.
    ("Australia/Lord_Howe", "2027-10-02", "15 2 * * *", "next_valid", ["10-02 15:30"]),
    ("Australia/Lord_Howe", "2027-10-02", "30 2 * * *", "next_valid", ["10-02 15:30"]),
    ("Australia/Lord_Howe", "2027-10-02", "15 2 * * *", "before", ["10-02 15:29"]),
    ("Australia/Lord_Howe", "2027-10-02", "45 2 * * *", "skip", ["10-02 15:45"]),
    # Sao Paulo 2018-11-04: midnight does not exist; 00:00 becomes 01:00 at 03:00 UTC.
    ("America/Sao_Paulo", "2018-11-04", "0 0 * * *", "next_valid", ["11-04 03:00"]),
    ("America/Sao_Paulo", "2018-11-04", "0 0 * * *", "skip", []),
    ("America/Sao_Paulo", "2018-11-04", "0 0 * * *", "before", ["11-04 02:59"]),
    # Apia left out the whole of 2011-12-30.
    ("Pacific/Apia", "2011-12-30", "0 8 * * *", "next_valid", ["12-30 10:00", "12-30 18:00"]),
    ("Pacific/Apia", "2011-12-30", "0 8 30 12 *", "next_valid", ["12-30 10:00"]),
    ("Pacific/Apia", "2011-12-30", "0 8 30 12 *", "skip", []),
    ("Pacific/Apia", "2011-12-30", "0 8 30 12 *", "before", ["12-30 09:59"]),
    # Troll jumps two hours on 2027-03-28: 01:00 becomes 03:00 at 01:00 UTC.
    ("Antarctica/Troll", "2027-03-28", "30 1,2 * * *", "next_valid", ["03-28 01:00"]),
    # Casablanca leaves its Ramadan time on 2024-04-14: 02:00 becomes 03:00 at 02:00 UTC.
    ("Africa/Casablanca", "2024-04-14", "30 2 * * *", "next_valid", ["04-14 02:00"]),
]

OVERLAP_TABLE = [
    # New York 2027-11-07: 02:00 EDT becomes 01:00 EST at 06:00 UTC.
    ("America/New_York", "2027-11-07", "30 1 * * *", "first", ["11-07 05:30"]),
    ("America/New_York", "2027-11-07", "30 1 * * *", "second", ["11-07 06:30"]),
    ("America/New_York", "2027-11-07", "30 1 * * *", "both", ["11-07 05:30", "11-07 06:30"]),
    ("America/New_York", "2027-11-07", "0 1,2 * * *", "first", ["11-07 05:00", "11-07 07:00"]),
    ("America/New_York", "2027-11-07", "0 1,2 * * *", "second", ["11-07 06:00", "11-07 07:00"]),
    (
        "America/New_York",
        "2027-11-07",
        "0,30 1 * * *",
        "both",
        ["11-07 05:00", "11-07 05:30", "11-07 06:00", "11-07 06:30"],
    ),
    # A step follows elapsed time whatever the policy.
    (
        "America/New_York",
        "2027-11-07",
        "*/30 1 * * *",
        "first",
        ["11-07 05:00", "11-07 05:30", "11-07 06:00", "11-07 06:30"],
    ),
    ("Europe/Paris", "2027-10-31", "15 2 * * *", "first", ["10-31 00:15"]),
    ("Europe/Paris", "2027-10-31", "15 2 * * *", "second", ["10-31 01:15"]),
    # Lord Howe 2027-04-04: 02:00 becomes 01:30 at 15:00 UTC of the day before.
    ("Australia/Lord_Howe", "2027-04-03", "45 1 * * *", "first", ["04-03 14:45"]),
    ("Australia/Lord_Howe", "2027-04-03", "45 1 * * *", "second", ["04-03 15:15"]),
    ("Australia/Lord_Howe", "2027-04-03", "45 1 * * *", "both", ["04-03 14:45", "04-03 15:15"]),
    ("Australia/Lord_Howe", "2027-04-03", "15 1 * * *", "both", ["04-03 14:15"]),
    # Sao Paulo 2018-02-18: 00:00 becomes 23:00 of the day before at 02:00 UTC.
    ("America/Sao_Paulo", "2018-02-18", "30 23 17 2 *", "first", ["02-18 01:30"]),
    ("America/Sao_Paulo", "2018-02-18", "30 23 17 2 *", "both", ["02-18 01:30", "02-18 02:30"]),
    ("Antarctica/Troll", "2027-10-31", "30 1 * * *", "both", ["10-30 23:30", "10-31 01:30"]),
    # Casablanca enters its Ramadan time on 2024-03-10: 03:00 becomes 02:00 at 02:00 UTC.
    ("Africa/Casablanca", "2024-03-10", "30 2 * * *", "first", ["03-10 01:30"]),
    ("Africa/Casablanca", "2024-03-10", "30 2 * * *", "second", ["03-10 02:30"]),
]


def around(day: str, spec) -> list[str]:
    """Return the fires of a day and the hours around it, in UTC."""
    noon = utc(f"{day} 12:00")
    after, until = noon - timedelta(hours=13), noon + timedelta(hours=7)
    return fires(spec, f"{after:%Y-%m-%d %H:%M}", f"{until:%Y-%m-%d %H:%M}")


@pytest.mark.parametrize(("zone", "day", "expression", "policy", "expected"), GAP_TABLE)
def test_a_time_in_the_gap_follows_the_policy(zone, day, expression, policy, expected):
    assert around(day, cron(expression, zone, dst_gap=policy)) == expected


@pytest.mark.parametrize(("zone", "day", "expression", "policy", "expected"), OVERLAP_TABLE)
def test_a_time_that_comes_twice_follows_the_policy(zone, day, expression, policy, expected):
    assert around(day, cron(expression, zone, dst_overlap=policy)) == expected


def test_occurrences_say_what_the_clocks_did():
    spec = cron("30 1,2 * * *", "America/New_York", dst_overlap="both")

    spring = spec.between(utc("2027-03-14 00:00"), utc("2027-03-14 12:00"), 9)
    autumn = spec.between(utc("2027-11-07 00:00"), utc("2027-11-07 12:00"), 9)

    assert [o.notes for o in spring] == [(), ("dst_gap",)]
    assert [o.notes for o in autumn] == [("dst_overlap",), ("dst_overlap",), ()]


def test_a_frequent_job_keeps_its_pace_through_both_changes():
    spec = cron("*/20 * * * *", "America/New_York")
    for change in ("2027-03-14 07:00", "2027-11-07 06:00"):
        found = spec.between(utc(change) - timedelta(hours=6), utc(change) + timedelta(hours=6), 99)

        assert len(found) == 36
        assert {b.at - a.at for a, b in itertools.pairwise(found)} == {timedelta(minutes=20)}


def test_a_step_job_on_one_day_a_year_runs_in_the_repeated_hour():
    spec = cron("*/30 1 7 11 *", "America/New_York")

    assert len(spec.between(utc("2027-11-01 00:00"), utc("2027-11-30 00:00"), 99)) == 4


def test_start_and_end_are_both_inclusive():
    spec = cron(
        "0 * * * *", start_at="2026-11-20T08:00:00+00:00", end_at="2026-11-20T10:00:00+00:00"
    )

    assert fires(spec, "2026-01-01 00:00", "2027-01-01 00:00") == [
        "11-20 08:00",
        "11-20 09:00",
        "11-20 10:00",
    ]
    assert spec.next_after(utc("2026-11-20 10:00")) is None


def test_a_start_within_a_second_waits_for_the_next_one():
    spec = cron("* * * * * *", start_at="2026-11-20T08:00:00.001Z")

    assert next_at(spec, utc("2026-01-01 00:00")) == utc("2026-11-20 08:00:01")


def test_moments_within_a_second_count_as_before_the_next_one():
    spec = cron("* * * * * *")
    moment = utc("2026-11-20 08:00") + timedelta(microseconds=1)

    assert next_at(spec, moment) == utc("2026-11-20 08:00:01")
    assert next_at(spec, utc("2026-11-20 07:59:59")) == utc("2026-11-20 08:00")


def test_moments_of_any_zone_and_year_are_taken():
    spec = cron("0 0 1 1 *")
    tokyo = find_zone("Asia/Tokyo").info

    assert next_at(spec, datetime(1900, 1, 1, tzinfo=tokyo)) == EPOCH
    assert next_at(spec, datetime(2027, 1, 1, 9, tzinfo=tokyo)) == utc("2028-01-01 00:00")
    assert spec.next_after(utc("2199-01-01 00:00")) is None
    assert spec.next_after(datetime(9999, 12, 31, tzinfo=UTC)) is None


def test_the_last_instant_of_the_calendar_is_reached_in_every_direction_of_utc():
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin"):
        last = cron("* * * * * *", zone).between(
            EPOCH + timedelta(seconds=LAST_SECOND - 5), datetime(9999, 1, 1, tzinfo=UTC), 99
        )
        assert last[-1].at == EPOCH + timedelta(seconds=LAST_SECOND)


def test_stepping_past_the_minute_before_a_gap_does_not_repeat_it():
    spec = cron("30 2 * * *", "America/New_York", dst_gap="before")

    assert next_at(spec, utc("2027-03-13 08:00")) == utc("2027-03-14 06:59")
    assert next_at(spec, utc("2027-03-14 06:59")) == utc("2027-03-15 06:30")


def test_a_date_beyond_the_calendar_never_comes():
    assert cron("0 0 29 2 *").next_after(utc("2196-03-01 00:00")) is None


def test_a_rare_date_is_found_decades_ahead():
    spec = cron("0 0 29 2 */7", "Europe/Berlin")

    assert fires(spec, "2026-01-01 00:00", "2100-01-01 00:00") == ["02-28 23:00"] * 2 + [
        "02-28 23:00"
    ]


def test_counting_agrees_with_listing():
    spec = cron("*/7 * * * 1-5", "America/New_York")
    after, until = utc("2027-03-10 00:00"), utc("2027-03-20 00:00")
    listed = spec.between(after, until, 10_000)

    assert spec.count_between(after, until, 10_000) == (len(listed), listed[-1].at)
    assert spec.count_between(after, until, 10) == (10, listed[9].at)
    assert spec.count_between(until, after, 10) == (0, None)


# --- against the slow oracle ---------------------------------------------------------------

ORACLE_ZONES = [
    "America/New_York",
    "Europe/Paris",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "Asia/Gaza",
    "America/Caracas",
    "Asia/Kathmandu",
    "Pacific/Chatham",
]
FIXED = "0,10,30,59 0-3,23 * * *"
ELAPSED = "*/15 1-3 * * *"
# A fixed time by its spelling, at every quarter of an hour.
QUARTERS = "0,15,30,45 0-23 * * *"


def changes(zone: str, first: int, last: int) -> list[datetime]:
    """Return the changes of offset of a zone from one year to another."""
    found: list[datetime] = []
    second = (datetime(first, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
    while True:
        second = find_zone(zone).segment_at(second).end
        moment = EPOCH + timedelta(seconds=second)
        if moment.year > last:
            return found
        found.append(moment)


def check_around(zone: str, change: datetime, expression: str, hours: int, **policy: str) -> None:
    after, until = change - timedelta(hours=hours), change + timedelta(hours=hours)
    margin = timedelta(days=2) if hours > 24 else timedelta(hours=4)
    expected = slow_cron.fires(expression, zone, after, until, margin=margin, **policy)
    spec = cron(
        expression,
        zone,
        dst_gap=policy.get("gap", "next_valid"),
        dst_overlap=policy.get("overlap", "first"),
    )
    found = [occurrence.at for occurrence in spec.between(after, until, 10_000)]
    assert found == expected, (zone, change, expression, policy)


@pytest.mark.parametrize("zone", ORACLE_ZONES)
def test_every_policy_agrees_with_the_oracle_around_changes(zone):
    for change in changes(zone, 2000, 2037)[-40::8]:
        for gap, overlap in zip(GAPS, OVERLAPS, strict=True):
            check_around(zone, change, FIXED, 30, gap=gap, overlap=overlap)
        check_around(zone, change, ELAPSED, 30)


@pytest.mark.slow
@pytest.mark.parametrize("gap", GAPS)
def test_every_change_of_every_zone_from_2000_to_2037_agrees_with_the_oracle(gap):
    overlap = OVERLAPS[GAPS.index(gap)]
    seen = set()
    for zone in sorted(zones._names()):
        segments = tuple(
            find_zone(zone).segment_at((moment - EPOCH) // timedelta(seconds=1))
            for moment in changes(zone, 2000, 2037)
        )
        if segments in seen:
            continue
        seen.add(segments)
        for segment in segments:
            change = EPOCH + timedelta(seconds=segment.start)
            # Apia left out a day; no other change of these years is longer than three hours.
            hours = 30 if abs(segment.offset - segment.before) > 3 * 3600 else 5
            check_around(zone, change, QUARTERS, hours, gap=gap, overlap=overlap)
            check_around(zone, change, ELAPSED, hours)


# --- against cronsim -----------------------------------------------------------------------


def items(low: int, high: int):
    """Draw plain items of a field: values, ranges, steps from a star."""
    value = st.integers(low, high)
    span = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    step = st.integers(1, high).map(lambda n: f"*/{n}")
    # cronsim begins "a-b/n" like croniter and like here; a lone "a-a" is one value.
    return st.one_of(
        st.just("*"), step, st.lists(value.map(str) | span, min_size=1, max_size=3).map(",".join)
    )


expressions = st.tuples(items(0, 59), items(0, 23), items(1, 28), items(1, 12), items(0, 6)).map(
    " ".join
)
seconds_expressions = st.tuples(items(0, 59), expressions).map(" ".join)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1)).map(  # noqa: DTZ001 - bounds of naive draws
    lambda moment: moment.replace(tzinfo=UTC)
)


def oracle(expression: str, zone: str, after: datetime, count: int) -> list[datetime]:
    local = after.astimezone(find_zone(zone).info)
    return [
        moment.astimezone(UTC) for moment in itertools.islice(CronSim(expression, local), count)
    ]


@settings(max_examples=150, deadline=None)
@given(
    expressions | seconds_expressions,
    moments,
    st.sampled_from(["UTC", "Asia/Tokyo", "Asia/Kathmandu"]),
)
def test_cronsim_agrees_where_clocks_never_change(expression, moment, zone):
    found = cron(expression, zone).between(moment, utc("2199-01-01 00:00"), 5)

    assert [occurrence.at for occurrence in found] == oracle(expression, zone, moment, 5)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "America/Sao_Paulo"])
@pytest.mark.parametrize(
    "expression",
    ["30 2 * * *", "0 0 * * *", "15 1,2 * * *", "0 1-4 * * *", "*/30 * * * *", "* 2 * * *"],
)
def test_cronsim_agrees_through_hourly_changes(zone, expression):
    # cronsim, too, runs fixed times once and frequent ones in both hours. It calls a field
    # frequent only when it begins with a star; here a step anywhere makes it so.
    for change in changes(zone, 2015, 2027)[:8]:
        after = change - timedelta(days=2)
        found = cron(expression, zone).between(after, change + timedelta(days=2), 200)

        assert [o.at for o in found] == oracle(expression, zone, after, len(found))


# --- properties ----------------------------------------------------------------------------

zones_with_changes = st.sampled_from(
    [zone for zone in ORACLE_ZONES if zone != "Asia/Kathmandu"]
    + ["Pacific/Apia", "Antarctica/Casey"]
)


@settings(max_examples=150, deadline=None)
@given(
    expressions | seconds_expressions,
    zones_with_changes,
    st.data(),
    st.sampled_from(GAPS),
    st.sampled_from(OVERLAPS),
)
def test_instants_rise_strictly_and_listing_equals_stepping(expression, zone, data, gap, overlap):
    change = data.draw(st.sampled_from(changes(zone, 2000, 2026)))
    moment = change + data.draw(st.timedeltas(timedelta(days=-2), timedelta(days=1)))
    spec = cron(expression, zone, dst_gap=gap, dst_overlap=overlap)
    listed = spec.between(moment, utc("2199-01-01 00:00"), 60)

    stepped, at = [], moment
    for _ in listed:
        occurrence = spec.next_after(at)
        assert occurrence is not None
        assert occurrence.at > at
        stepped.append(occurrence)
        at = occurrence.at

    assert stepped == listed


@settings(max_examples=60, deadline=None)
@given(expressions, zones_with_changes, moments, st.timedeltas(timedelta(0), timedelta(days=3)))
def test_next_after_skips_nothing(expression, zone, moment, later):
    spec = cron(expression, zone)
    following = spec.next_after(moment)
    between = moment + later

    if following is not None and following.at > between:
        assert spec.next_after(between) == following


@settings(max_examples=100, deadline=None)
@given(
    expressions | seconds_expressions,
    zones_with_changes,
    st.data(),
    st.sampled_from(GAPS),
    st.sampled_from(OVERLAPS),
)
def test_a_stretch_may_be_cut_anywhere_and_counted(expression, zone, data, gap, overlap):
    change = data.draw(st.sampled_from(changes(zone, 2000, 2026)))
    cut = change + data.draw(st.timedeltas(timedelta(hours=-4), timedelta(hours=4)))
    low, high = change - timedelta(hours=5), change + timedelta(hours=5)
    spec = cron(expression, zone, dst_gap=gap, dst_overlap=overlap)

    whole = spec.between(low, high, 50_000)

    assert whole == spec.between(low, cut, 50_000) + spec.between(cut, high, 50_000)
    assert spec.count_between(low, high, 50_000) == (len(whole), whole[-1].at if whole else None)
    assert all(low < occurrence.at <= high for occurrence in whole)
