from __future__ import annotations

from datetime import date

import pytest

from tasks.schedules.calendars import CalendarDays
from tasks.schedules.spec import ScheduleError, parse
from tests.tasks.schedules.instants import fires

MAY_DAY = CalendarDays("Holidays", dates=frozenset({date(2026, 5, 1), date(2026, 12, 31)}))
NO_WEEKEND = CalendarDays("Every day", weekend=frozenset())


def spec(which, *calendars, cron="0 8 * * *", **schedule):
    body = {"cron_expression": cron, "working_day": which, **schedule}
    return parse("RECURRING", body, calendars=calendars)


@pytest.mark.parametrize(
    ("which", "calendars", "expected"),
    [
        # Saturday and Sunday are off without any calendar.
        (1, [], ["05-01 08:00", "06-01 08:00", "07-01 08:00", "08-03 08:00"]),
        (1, [MAY_DAY], ["05-04 08:00", "06-01 08:00", "07-01 08:00", "08-03 08:00"]),
        (-1, [], ["05-29 08:00", "06-30 08:00", "07-31 08:00", "08-31 08:00"]),
        (3, [MAY_DAY], ["05-06 08:00", "06-03 08:00", "07-03 08:00", "08-05 08:00"]),
        (-2, [], ["05-28 08:00", "06-29 08:00", "07-30 08:00", "08-28 08:00"]),
        # Months with fewer working days do not fire: June has 22, July 23.
        (23, [], ["07-31 08:00"]),
        (31, [NO_WEEKEND], ["05-31 08:00", "07-31 08:00", "08-31 08:00"]),
    ],
)
def test_it_fires_on_the_nth_working_day_of_each_month(which, calendars, expected):
    found = fires(spec(which, *calendars), "2026-04-30 12:00", "2026-09-01 00:00")

    assert found == expected


def test_it_fires_at_every_time_of_day_and_in_the_months_of_the_expression():
    found = fires(spec(-1, MAY_DAY, cron="0 8,18 * 6,12 *"), "2026-01-01 00:00", "2027-06-01 00:00")

    assert found == ["06-30 08:00", "06-30 18:00", "12-30 08:00", "12-30 18:00"]


def test_the_day_is_a_day_of_the_schedules_zone_and_meets_changed_clocks():
    # 2026-03-29 is a Sunday; of a week without a weekend it is the 29th working day.
    found = fires(
        spec(29, NO_WEEKEND, cron="30 2 * 3 *", timezone="Europe/Berlin"),
        "2026-01-01 00:00",
        "2026-12-31 00:00",
    )

    assert found == ["03-29 01:00"]


@pytest.mark.parametrize("cron", ["0 8 1 * *", "0 8 * * MON", "0 8 L * *"])
def test_day_fields_beside_it_are_refused(cron):
    with pytest.raises(ScheduleError) as refused:
        spec(1, cron=cron)

    assert [(e.pointer, e.code) for e in refused.value.errors] == [
        ("#/schedule/cron_expression", "not_applicable")
    ]


@pytest.mark.parametrize("which", [24, -25])
def test_a_number_that_no_month_reaches_is_refused(which):
    with pytest.raises(ScheduleError) as refused:
        spec(which)

    assert [(e.pointer, e.code) for e in refused.value.errors] == [
        ("#/schedule/working_day", "cron_never_fires")
    ]


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (1, "on the 1st working day of the month"),
        (2, "on the 2nd working day of the month"),
        (11, "on the 11th working day of the month"),
        (23, "on the 23rd working day of the month"),
        (-1, "on the last working day of the month"),
        (-3, "on the 3rd last working day of the month"),
    ],
)
def test_it_is_said_in_words(which, words):
    assert spec(which).text == f"At 08:00, {words}, UTC"
