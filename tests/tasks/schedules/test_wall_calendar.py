from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.cron_terms import NeverFires
from tasks.schedules.wall_calendar import DAY, WallCalendar, wall_calendar
from tasks.schedules.zones import EPOCH
from tests.support import slow_cron


def days(expression: str, year: int, month: int) -> list[int]:
    """Return the days of a month that match."""
    calendar = WallCalendar(parse_cron(expression))
    first = (datetime(year, month, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
    found = []
    wall = calendar.next(first)
    while wall is not None:
        moment = EPOCH + timedelta(seconds=wall)
        if (moment.year, moment.month) != (year, month):
            break
        found.append(moment.day)
        wall = calendar.next(wall + 1)
    return found


@pytest.mark.parametrize(
    ("expression", "year", "month", "expected"),
    [
        # November 2026 begins on a Sunday and ends on a Monday; August ends on one, too.
        ("0 0 L * *", 2026, 11, [30]),
        ("0 0 L * *", 2028, 2, [29]),
        ("0 0 L-3 * *", 2026, 11, [27]),
        ("0 0 L-30 * *", 2026, 11, []),
        ("0 0 LW * *", 2026, 11, [30]),
        ("0 0 LW * *", 2026, 10, [30]),
        ("0 0 LW * *", 2026, 5, [29]),
        ("0 0 1W * *", 2026, 11, [2]),
        ("0 0 1W * *", 2026, 8, [3]),
        ("0 0 15W * *", 2026, 11, [16]),
        ("0 0 14W * *", 2026, 11, [13]),
        ("0 0 12W * *", 2026, 11, [12]),
        ("0 0 31W * *", 2026, 5, [29]),
        ("0 0 31W * *", 2026, 11, [30]),
        ("0 0 * * 1#1", 2026, 11, [2]),
        ("0 0 * * 0#5", 2026, 11, [29]),
        ("0 0 * * 2#5", 2026, 11, []),
        ("0 0 * * 5L", 2026, 11, [27]),
        ("0 0 * * 1L", 2026, 11, [30]),
        ("0 0 * * 0,7", 2026, 11, [1, 8, 15, 22, 29]),
        ("0 0 13 * 5", 2026, 11, [6, 13, 20, 27]),
        ("0 0 13 * 1", 2026, 11, [2, 9, 13, 16, 23, 30]),
        ("0 0 */10 * 0", 2026, 11, [1]),
        ("0 0 ? * 3", 2026, 11, [4, 11, 18, 25]),
        ("0 0 31 * *", 2026, 11, []),
        ("0 0 29 2 *", 2100, 2, []),
        ("0 0 29 2 *", 2096, 2, [29]),
        ("0 0 L,15 * *", 2026, 11, [15, 30]),
    ],
)
def test_days_of_a_month(expression, year, month, expected):
    assert days(expression, year, month) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 30 2 *",
        "0 0 30,31 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 31 4 */7",
        "0 0 */31 * 1#5",
        "0 0 */40 * 1#2",
        "0 0 L-29 2 *",
        "0 0 31 2,4 *",
        "0 0 31 SEP,NOV *",
        "0 0 L-30 4 *",
        # Both fields bind, and no working day is a Sunday, no fifth Monday the 31st of February.
        "0 0 */30 2 1#5",
        "0 0 15W * */7",
        "0 0 LW * */7",
        "0 0 1W,LW 5 */6",
    ],
)
def test_an_expression_without_any_date_is_refused(expression):
    with pytest.raises(NeverFires) as caught:
        wall_calendar(parse_cron(expression))

    assert caught.value.code == "cron_never_fires"
    assert "Day-of-month field, position 5" in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 29 2 *",
        "0 0 29 2 */7",
        "0 0 31 2,4,5 *",
        "0 0 30W 2 *",
        "0 0 31 2 1",
        "0 0 L-28 2 *",
        "0 0 * 2 1#5",
    ],
)
def test_a_rare_date_is_accepted_and_found(expression):
    calendar = wall_calendar(parse_cron(expression))
    start = (datetime(2026, 11, 20, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)

    found = calendar.next(start)

    assert found is not None
    assert (EPOCH + timedelta(seconds=found)).year < 2067


def test_the_calendar_ends_in_2200():
    calendar = wall_calendar(parse_cron("0 0 1 1 *"))

    assert calendar.next((datetime(2200, 6, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)) is None


def test_each_second_field_moves_on_in_turn():
    calendar = wall_calendar(parse_cron("10,40 5,50 1,20 * * *"))
    walls = []
    wall = calendar.next(0)
    while wall is not None and wall < 86_400:
        walls.append(wall)
        wall = calendar.next(wall + 1)

    assert walls == [h * 3600 + m * 60 + s for h in (1, 20) for m in (5, 50) for s in (10, 40)]


def numbers(low: int, high: int):
    value = st.integers(low, high).map(str)
    span = st.tuples(st.integers(low, high), st.integers(low, high)).map(
        lambda pair: f"{min(pair)}-{max(pair)}"
    )
    return st.just("*") | value | span | st.integers(2, 9).map(lambda step: f"*/{step}")


DAYS = st.lists(
    numbers(1, 31)
    | st.sampled_from(["L", "LW", "1W", "31W", "L-30"])
    | st.integers(1, 31).map(lambda day: f"{day}W")
    | st.integers(0, 30).map(lambda back: f"L-{back}"),
    min_size=1,
    max_size=3,
).map(",".join)
WEEKDAYS = st.lists(
    numbers(0, 7)
    | st.tuples(st.integers(0, 7), st.integers(1, 5)).map(lambda pair: f"{pair[0]}#{pair[1]}")
    | st.integers(0, 7).map(lambda day: f"{day}L")
    | st.sampled_from(["MON-FRI", "FRI-MON", "SAT-TUE/2", "SUN#1"]),
    min_size=1,
    max_size=3,
).map(",".join)


@given(DAYS, numbers(1, 12) | st.just("NOV-FEB"), WEEKDAYS, st.integers(2000, 2037))
def test_the_days_of_a_year_are_those_that_the_slow_oracle_finds(day, month, weekday, year):
    expression = f"0 0 {day} {month} {weekday}"
    first = date(year, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
    wanted = [
        number
        for number in range(first, first + 365)
        if slow_cron.day_matches(day, month, weekday, number)
    ]

    calendar = WallCalendar(parse_cron(expression))
    found = []
    wall = calendar.next(first * DAY)
    while wall is not None and wall < (first + 365) * DAY:
        found.append(wall // DAY)
        wall = calendar.next(wall + 1)

    assert found == wanted
