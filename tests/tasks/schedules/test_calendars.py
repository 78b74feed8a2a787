from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules.base import DST_GAP, DST_OVERLAP, Spec
from tasks.schedules.calendars import CalendarDays
from tasks.schedules.days_off import SATURDAY_AND_SUNDAY
from tasks.schedules.spec import ScheduleError, parse
from tests.tasks.schedules.instants import utc

EASTER = CalendarDays("Holidays", dates=frozenset({date(2026, 4, 3), date(2026, 4, 6)}))
NEW_YEAR = CalendarDays(
    "New year", dates=frozenset({date(2026, 12, 25), date(2026, 12, 31), date(2027, 1, 1)})
)
SKIP, NEXT, PREVIOUS = "skip", "next_business_day", "previous_business_day"


def days(*texts: str, name: str = "Days", weekend: frozenset[int] = SATURDAY_AND_SUNDAY):
    return CalendarDays(name, weekend, frozenset(date.fromisoformat(text) for text in texts))


def windows(*pairs: tuple[str, str], name: str = "Windows"):
    return CalendarDays(name, windows=tuple((utc(start), utc(end)) for start, end in pairs))


def cron(expression: str, policy: str, *calendars: CalendarDays, zone="UTC", **schedule) -> Spec:
    body = {"cron_expression": expression, "timezone": zone, "calendar_policy": policy, **schedule}
    return parse("RECURRING", body, calendars=calendars)


def local(spec: Spec, after: str, count: int) -> list[str]:
    """Return what runs, and excluded instants with an x, in local time."""
    return [
        f"{one.at.astimezone(spec.zone.info):%m-%d %H:%M}{' x' if one.excluded else ''}"
        for one in islice(spec.walk(utc(after)), count)
    ]


# --- skipping ------------------------------------------------------------------------------


def test_a_date_excludes_the_whole_local_day():
    spec = cron("0 */12 * * *", SKIP, days("2026-11-20"), zone="Asia/Tokyo")

    # The day begins at 15:00 UTC of the day before.
    assert local(spec, "2026-11-19 00:00", 5) == [
        "11-19 12:00",
        "11-20 00:00 x",
        "11-20 12:00 x",
        "11-21 00:00",
        "11-21 12:00",
    ]


def test_an_excluded_instant_names_its_calendar_and_has_a_note():
    first = next(cron("0 8 3 4 *", SKIP, NEW_YEAR, EASTER).walk(utc("2026-04-01 00:00")))

    assert (first.excluded, first.notes) == ("Holidays", ("calendar_excluded",))


def test_a_window_excludes_from_its_start_until_before_its_end_across_midnight():
    spec = cron("0 * * * *", SKIP, windows(("2026-11-20 22:00", "2026-11-21 02:00")))

    assert local(spec, "2026-11-20 20:30", 7) == [
        "11-20 21:00",
        "11-20 22:00 x",
        "11-20 23:00 x",
        "11-21 00:00 x",
        "11-21 01:00 x",
        "11-21 02:00",
        "11-21 03:00",
    ]


def test_windows_that_overlap_are_one_and_the_first_calendar_is_named():
    spec = cron(
        "30 * * * *",
        SKIP,
        windows(("2026-11-20 10:00", "2026-11-20 12:00"), name="A"),
        windows(("2026-11-20 11:00", "2026-11-20 13:00"), name="B"),
    )

    found = [one.excluded for one in islice(spec.walk(utc("2026-11-20 09:40")), 4)]
    assert found == ["A", "A", "B", ""]


def test_a_fixed_rate_and_a_one_time_schedule_can_be_skipped():
    hourly = parse(
        "RECURRING",
        {"every": "PT12H"},
        anchor=utc("2026-11-19 00:00"),
        calendars=[days("2026-11-20")],
    )
    once = parse("ONE_TIME", {"run_at": "2026-11-20T08:00:00Z"}, calendars=[days("2026-11-20")])

    assert local(hourly, "2026-11-19 06:00", 4) == [
        "11-19 12:00",
        "11-20 00:00 x",
        "11-20 12:00 x",
        "11-21 00:00",
    ]
    assert local(once, "2026-01-01 00:00", 2) == ["11-20 08:00 x"]


def test_what_runs_next_is_found_without_a_walk_through_what_is_excluded():
    long = windows(("2026-01-01 00:00", "2030-01-01 00:00"))
    spec = cron("* * * * * *", SKIP, long, days("2030-01-01"))

    found = next(spec.walk_open(utc("2026-06-01 00:00")))

    assert found.at == utc("2030-01-02 00:00")


def test_counting_counts_excluded_instants_too():
    spec = cron("0 8 * * *", SKIP, EASTER)

    assert spec.may_exclude
    counted = spec.count_between(utc("2026-04-01 00:00"), utc("2026-04-08 00:00"), 100)
    assert counted == (7, utc("2026-04-07 08:00"))


# --- moving --------------------------------------------------------------------------------

# expression, policy, calendars, after, expected
MOVES = [
    # Good Friday goes to Tuesday, because Easter Monday is a holiday too.
    ("0 8 * * FRI", NEXT, [EASTER], "2026-04-01 00:00", ["04-07 08:00", "04-10 08:00"]),
    ("0 8 * * MON", PREVIOUS, [EASTER], "2026-04-01 00:00", ["04-02 08:00", "04-13 08:00"]),
    # Only what is hit moves: a Saturday that is no holiday stays.
    ("0 8 4 4 *", NEXT, [EASTER], "2026-04-01 00:00", ["04-04 08:00"]),
    # Two that meet are one.
    (
        "0 8 * * *",
        NEXT,
        [EASTER],
        "2026-04-02 00:00",
        ["04-02 08:00", "04-04 08:00", "04-05 08:00", "04-07 08:00", "04-08 08:00"],
    ),
    (
        "0 8 * * *",
        PREVIOUS,
        [EASTER],
        "2026-04-02 00:00",
        ["04-02 08:00", "04-04 08:00", "04-05 08:00", "04-07 08:00"],
    ),
    # Across the end of the year, in both directions.
    ("0 8 31 12 *", NEXT, [NEW_YEAR], "2026-12-01 00:00", ["01-04 08:00", "12-31 08:00"]),
    ("0 8 1 1 *", PREVIOUS, [NEW_YEAR], "2026-12-01 00:00", ["12-30 08:00", "01-01 08:00"]),
    # Of several calendars each may refuse the day; the working days are those of all.
    (
        "0 8 3 4 *",
        NEXT,
        [EASTER, days("2026-04-07"), days("2026-05-01", weekend=frozenset({3}))],
        "2026-04-01 00:00",
        ["04-09 08:00", "04-03 08:00"],
    ),
    # A window at that time of the next day is passed over as well.
    (
        "0 8 3 4 *",
        NEXT,
        [EASTER, windows(("2026-04-07 07:00", "2026-04-07 09:00"))],
        "2026-04-01 00:00",
        ["04-08 08:00", "04-03 08:00"],
    ),
    # What a window hits moves to the next day at the same time.
    (
        "0 23 20 11 *",
        NEXT,
        [windows(("2026-11-20 22:00", "2026-11-21 02:00"))],
        "2026-11-01 00:00",
        ["11-23 23:00", "11-20 23:00"],
    ),
    # Nothing within a year takes it: it is excluded at its place.
    (
        "0 8 3 4 *",
        NEXT,
        [windows(("2026-04-01 00:00", "2027-04-20 00:00"))],
        "2026-04-01 00:00",
        ["04-03 08:00 x", "04-20 08:00"],
    ),
]


@pytest.mark.parametrize(("expression", "policy", "calendars", "after", "expected"), MOVES)
def test_a_hit_moves_to_the_nearest_day_that_works(expression, policy, calendars, after, expected):
    spec = cron(expression, policy, *calendars)

    assert local(spec, after, len(expected)) == expected


def test_a_moved_instant_has_a_note_also_where_it_meets_another():
    spec = cron("0 8 * * *", NEXT, EASTER)

    notes = {one.at.day: one.notes for one in islice(spec.walk(utc("2026-04-02 00:00")), 5)}

    assert notes == {2: (), 4: (), 5: (), 7: ("calendar_rolled",), 8: ()}


def test_a_walk_that_begins_after_the_hit_still_meets_what_was_moved():
    spec = cron("0 8 * * FRI", NEXT, EASTER)

    assert local(spec, "2026-04-06 12:00", 1) == ["04-07 08:00"]
    assert local(spec, "2026-04-07 08:00", 1) == ["04-10 08:00"]


@pytest.mark.parametrize("clock", ["00:00", "10:00", "17:59"])
def test_a_walk_that_begins_on_the_day_of_the_moved_instant_meets_it(clock: str):
    # The 25th is a Friday; what is moved comes on Monday.
    spec = cron("0 18 25 12 *", NEXT, NEW_YEAR)

    assert local(spec, f"2026-12-28 {clock}", 1) == ["12-28 18:00"]
    # The next year's is not in the calendar.
    assert local(spec, "2026-12-28 18:00", 1) == ["12-25 18:00"]


def test_what_was_moved_back_to_before_the_walk_begins_does_not_come():
    spec = cron("0 8 * * FRI", PREVIOUS, EASTER)

    assert local(spec, "2026-04-02 07:59", 1) == ["04-02 08:00"]
    assert local(spec, "2026-04-02 08:00", 1) == ["04-10 08:00"]


def test_nothing_moves_out_of_the_bounds_of_its_schedule():
    late = cron("0 8 31 12 *", NEXT, NEW_YEAR, end_at="2027-01-01T00:00:00Z")
    early = cron("0 8 1 1 *", PREVIOUS, NEW_YEAR, start_at="2026-12-31T00:00:00Z")

    assert local(late, "2026-12-01 00:00", 2) == ["12-31 08:00 x"]
    assert local(early, "2026-12-01 00:00", 2) == ["01-01 08:00 x", "01-01 08:00"]


def test_a_one_time_task_moves_with_its_milliseconds():
    body = {"run_at": "2026-04-03T08:00:00.250Z", "calendar_policy": NEXT}

    (found,) = parse("ONE_TIME", body, calendars=[EASTER]).walk(utc("2026-01-01 00:00"))

    assert found.at == utc("2026-04-07 08:00") + timedelta(milliseconds=250)


# zone, expression, policy, date that is hit, rules, expected local time, note
CLOCKS = [
    # Berlin 2026-03-29: 02:00 becomes 03:00. Onto that day:
    ("30 2 28 3 *", NEXT, "2026-03-28", {}, "03-29 03:00", DST_GAP),
    ("30 2 30 3 *", PREVIOUS, "2026-03-30", {}, "03-29 03:00", DST_GAP),
    ("30 2 30 3 *", PREVIOUS, "2026-03-30", {"dst_gap": "before"}, "03-29 01:59", DST_GAP),
    ("30 2 30 3 *", PREVIOUS, "2026-03-30", {"dst_gap": "skip"}, "03-28 02:30", None),
    # From that day the time that was meant moves, not the one that stood for it.
    ("30 2 29 3 *", NEXT, "2026-03-29", {}, "03-30 02:30", None),
    ("30 2 29 3 *", PREVIOUS, "2026-03-29", {"dst_gap": "before"}, "03-28 02:30", None),
    # Berlin 2026-10-25: 03:00 becomes 02:00.
    ("30 2 26 10 *", PREVIOUS, "2026-10-26", {}, "10-25 02:30+0200", DST_OVERLAP),
    (
        "30 2 26 10 *",
        PREVIOUS,
        "2026-10-26",
        {"dst_overlap": "second"},
        "10-25 02:30+0100",
        DST_OVERLAP,
    ),
    ("30 2 25 10 *", NEXT, "2026-10-25", {"dst_overlap": "both"}, "10-26 02:30", None),
]


@pytest.mark.parametrize(("expression", "policy", "hit", "rules", "expected", "note"), CLOCKS)
def test_a_move_follows_the_rules_for_changed_clocks(
    expression, policy, hit, rules, expected, note
):
    off = days(hit, weekend=frozenset())
    spec = cron(expression, policy, off, zone="Europe/Berlin", **rules)

    found = next(spec.walk(utc("2026-01-01 00:00")))

    assert f"{found.at.astimezone(spec.zone.info):%m-%d %H:%M%z}".startswith(expected)
    assert found.notes == ((note,) if note else ()) + ("calendar_rolled",)


def test_both_of_an_hour_that_comes_twice_move_to_one():
    off = days("2026-10-25", weekend=frozenset())
    spec = cron("30 2 * * *", NEXT, off, zone="Europe/Berlin", dst_overlap="both")

    assert local(spec, "2026-10-24 12:00", 2) == ["10-26 02:30", "10-27 02:30"]


# --- what is refused -----------------------------------------------------------------------


def test_a_fixed_rate_is_not_moved():
    with pytest.raises(ScheduleError) as refused:
        parse("RECURRING", {"every": "PT1H", "calendar_policy": NEXT}, anchor=utc("2026-01-01"))

    assert [e.pointer for e in refused.value.errors] == ["#/schedule/calendar_policy"]


def test_what_fires_too_often_is_not_moved():
    parse("RECURRING", {"cron_expression": "*/15 * * * *", "calendar_policy": NEXT})
    with pytest.raises(ScheduleError) as refused:
        parse("RECURRING", {"cron_expression": "*/10 * * * *", "calendar_policy": NEXT})

    assert [e.pointer for e in refused.value.errors] == ["#/schedule/calendar_policy"]


def test_the_calendars_are_part_of_the_words():
    text = cron("0 8 * * *", NEXT, EASTER, NEW_YEAR).text

    assert text == (
        "At 08:00, every day, UTC, moved to the next business day when 'Holidays' or 'New year' "
        "excludes it"
    )


# --- properties, against a slow oracle -----------------------------------------------------

ZONES = ("UTC", "Europe/Berlin", "America/New_York")
EXPRESSIONS = ("0 8 * * *", "30 2 * * *", "0 */6 * * *", "15 9 * * MON", "0 12 1,15 * *")
START = date(2026, 3, 1)

_days = st.integers(0, 60).map(lambda passed: START + timedelta(days=passed))
_moments = st.integers(0, 60 * 24).map(
    lambda hours: datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hours)
)
_windows = st.builds(
    lambda start, hours: (start, start + timedelta(hours=hours)), _moments, st.integers(1, 40)
)
_calendars = st.lists(
    st.builds(
        CalendarDays,
        st.sampled_from(["A", "B"]),
        st.sampled_from([frozenset(), SATURDAY_AND_SUNDAY, frozenset({5})]),
        st.frozensets(_days, max_size=12),
        st.lists(_windows, max_size=5).map(tuple),
    ),
    min_size=1,
    max_size=3,
)


class Oracle:
    """Judges one base instant after the other with zoneinfo alone."""

    def __init__(self, base: Spec, calendars: list[CalendarDays], policy: str) -> None:
        self.base, self.calendars = base, calendars
        self.zone = ZoneInfo(base.zone.name)
        self.step = {NEXT: 1, PREVIOUS: -1, SKIP: 0}[policy]

    def hit(self, at: datetime) -> bool:
        day = at.astimezone(self.zone).date()
        return any(
            day in c.dates or any(start <= at < end for start, end in c.windows)
            for c in self.calendars
        )

    def works(self, day: date) -> bool:
        return not any(day.isoweekday() in c.weekend or day in c.dates for c in self.calendars)

    def judge(self, at: datetime, nominal: datetime) -> tuple[datetime, bool]:
        """Return where an instant ends up, and whether it runs."""
        if not self.hit(at):
            return at, True
        for passed in range(1, 367 if self.step else 1):
            day = nominal.date() + timedelta(days=passed * self.step)
            moved = self.at(day, nominal.time())
            if self.works(day) and not self.hit(moved):
                return moved, True
        return at, False

    def at(self, day: date, clock: time) -> datetime:
        found = datetime.combine(day, clock, self.zone).astimezone(UTC)
        if found.astimezone(self.zone).time() == clock:
            return found
        # In a gap: the first moment after it.
        lower = found - timedelta(hours=3)
        offset = lower.astimezone(self.zone).utcoffset()
        while lower.astimezone(self.zone).utcoffset() == offset:
            lower += timedelta(minutes=1)
        return lower


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.sampled_from(EXPRESSIONS),
    st.sampled_from([SKIP, NEXT, PREVIOUS]),
    _calendars,
    _moments,
)
def test_every_instant_is_kept_excluded_or_moved_exactly_once(
    zone, expression, policy, calendars, after
):
    base = parse("RECURRING", {"cron_expression": expression, "timezone": zone})
    spec = cron(expression, policy, *calendars, zone=zone)
    oracle = Oracle(base, calendars, policy)
    expected: dict[datetime, bool] = {}
    for one in base.between(
        datetime(2025, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC), 9999
    ):
        wall = datetime(1970, 1, 1) + timedelta(seconds=base.wall_of(one))  # noqa: DTZ001  # local time
        at, runs = oracle.judge(one.at, wall)
        expected[at] = expected.get(at, False) or runs

    until = after + timedelta(days=100)
    found = spec.between(after, until, 9999)

    assert all(one.at < other.at for one, other in pairwise(found))
    assert {one.at: not one.excluded for one in found} == {
        at: runs for at, runs in expected.items() if after < at <= until
    }
    assert not any(oracle.hit(one.at) for one in found if not one.excluded)
    assert [one.at for one in found if not one.excluded] == [
        one.at for one in islice(spec.walk_open(after), len(found)) if one.at <= until
    ]
