from __future__ import annotations

from datetime import date
from itertools import islice

import pytest

from tasks.ical_rules import Budget, BudgetSpent, RuleBroken, RuleNotRead, expand, read_rule

FIRST, LAST = date(2021, 1, 1), date(2026, 12, 31)


def days(text: str, start: date, budget: int = 10**6) -> list[date]:
    return list(expand(read_rule(text), start, LAST, FIRST, Budget(budget)))


# Rules of RFC 5545, section 3.8.5.3, with the first days of each: rule, first day, days.
EXAMPLES = [
    ("FREQ=DAILY;COUNT=3", "1997-09-02", ["1997-09-02", "1997-09-03", "1997-09-04"]),
    ("FREQ=DAILY;INTERVAL=10;COUNT=3", "1997-09-02", ["1997-09-02", "1997-09-12", "1997-09-22"]),
    ("FREQ=DAILY;BYMONTH=1", "1998-01-30", ["1998-01-30", "1998-01-31", "1999-01-01"]),
    (
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH;COUNT=8",
        "1997-09-02",
        ["1997-09-02", "1997-09-04", "1997-09-16", "1997-09-18", "1997-09-30"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "1997-08-05",
        ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "1997-08-05",
        ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"],
    ),
    (
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "1997-09-05",
        ["1997-09-05", "1997-10-03", "1997-11-07", "1997-12-05"],
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "1997-09-07",
        ["1997-09-07", "1997-09-28", "1997-11-02", "1997-11-30"],
    ),
    ("FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22", ["1997-09-22", "1997-10-20", "1997-11-17"]),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28", ["1997-09-28", "1997-10-29", "1997-11-28"]),
    ("FREQ=MONTHLY;BYMONTHDAY=1,-1", "1997-09-30", ["1997-09-30", "1997-10-01", "1997-10-31"]),
    ("FREQ=MONTHLY;BYMONTHDAY=30;COUNT=4", "2007-01-30", ["2007-01-30", "2007-03-30"]),
    (
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "1997-09-02",
        ["1998-02-13", "1998-03-13", "1998-11-13", "1999-08-13", "2000-10-13"],
    ),
    (
        "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        "1997-09-04",
        ["1997-09-04", "1997-10-07", "1997-11-06"],
    ),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997-09-29",
        ["1997-09-29", "1997-10-30", "1997-11-27", "1997-12-30"],
    ),
    ("FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "1997-06-10", ["1997-06-10", "1997-07-10", "1998-06-10"]),
    (
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "1997-01-01",
        ["1997-01-01", "1997-04-10", "1997-07-19", "2000-01-01", "2000-04-09"],
    ),
    ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19", ["1997-05-19", "1998-05-18", "1999-05-17"]),
    (
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997-03-13",
        ["1997-03-13", "1997-03-20", "1997-03-27", "1998-03-05"],
    ),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996-11-05",
        ["1996-11-05", "2000-11-07", "2004-11-02"],
    ),
    ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "1996-02-29", ["1996-02-29", "2000-02-29"]),
]


@pytest.mark.parametrize(("text", "start", "expected"), EXAMPLES)
def test_a_rule_gives_the_days_that_the_standard_says(text, start, expected):
    first = date.fromisoformat(start)
    found = expand(read_rule(text), first, date(2010, 12, 31), first, Budget(10**6))

    assert [str(day) for day in islice(found, len(expected))] == expected


@pytest.mark.parametrize(("text", "start", "expected"), EXAMPLES)
def test_where_the_range_begins_changes_nothing_of_what_is_in_it(text, start, expected):
    first, later, last = date.fromisoformat(start), date(1998, 1, 1), date(2005, 12, 31)
    every = list(expand(read_rule(text), first, last, first, Budget(10**6)))

    found = list(expand(read_rule(text), first, last, later, Budget(10**6)))

    assert found == [day for day in every if day >= later]


def test_a_count_ends_a_rule():
    assert len(days("FREQ=DAILY;COUNT=5", date(2021, 1, 1))) == 5
    assert len(days("FREQ=DAILY;COUNT=5", date(2020, 12, 30))) == 3


def test_a_rule_may_count_days_of_the_year():
    assert days("FREQ=YEARLY;BYYEARDAY=1,-1;COUNT=3", date(2024, 1, 1)) == [
        date(2024, 1, 1),
        date(2024, 12, 31),
        date(2025, 1, 1),
    ]


@pytest.mark.parametrize(
    "text",
    ["FREQ=SECONDLY", "FREQ=HOURLY;COUNT=2", "FREQ=DAILY;BYHOUR=1", "FREQ=YEARLY;BYWEEKNO=1"],
)
def test_what_repeats_within_a_day_or_by_week_number_is_not_read(text):
    with pytest.raises(RuleNotRead):
        read_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "COUNT=1",
        "FREQ=SOMETIMES",
        "FREQ=DAILY;COUNT",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=1;COUNT=2",
        "FREQ=DAILY;INTERVAL=-1",
        "FREQ=DAILY;INTERVAL=99999999999999999999",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=MONTHLY;BYDAY=XX",
        "FREQ=MONTHLY;BYDAY=0MO",
        "FREQ=WEEKLY;BYDAY=1MO",
        "FREQ=WEEKLY;WKST=1",
    ],
)
def test_a_rule_that_is_none_is_refused(text):
    with pytest.raises(RuleBroken):
        read_rule(text)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", date(2021, 1, 1)),
        ("FREQ=DAILY;COUNT=999999999", date(1, 1, 1)),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=1", date(1, 1, 1)),
    ],
)
def test_a_rule_without_end_or_days_spends_its_budget_and_no_more(text, start):
    with pytest.raises(BudgetSpent):
        days(text, start, budget=1000)


def test_a_rule_that_begins_long_ago_is_not_followed_from_there():
    assert days("FREQ=DAILY;INTERVAL=365", date(1900, 1, 1), budget=100)
    assert days("FREQ=YEARLY", date(9999, 12, 31)) == []
