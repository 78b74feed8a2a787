"""Recurring schedules in plain words: a table, and the way back from the product's own words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.plain_times.recurrences import EXAMPLES, read_recurrence
from tasks.plain_times.vocabulary import PlainTimeError
from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.spec import parse
from tasks.schedules.zones import find_zone

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BERLIN = find_zone("Europe/Berlin")

CRON = {
    "every weekday at 9": "0 9 * * 1-5",
    "weekdays 9:00": "0 9 * * 1-5",
    "monday to friday at 9": "0 9 * * 1-5",
    "every day at 8:30": "30 8 * * *",
    "daily at noon": "0 12 * * *",
    "at midnight every day": "0 0 * * *",
    "9:00 and 17:00 every day": "0 9,17 * * *",
    "every weekend at 10am": "0 10 * * 0,6",
    "every monday and thursday at 8:30": "30 8 * * 1,4",
    "every mon, wed and fri 9am": "0 9 * * 1,3,5",
    "sundays at midnight": "0 0 * * 0",
    "weekly on monday at 9": "0 9 * * 1",
    "friday to monday at 9": "0 9 * * 0,1,5,6",
    "every 15 minutes": "*/15 * * * *",
    "every 30 seconds": "*/30 * * * * *",
    "every minute": "* * * * *",
    "every hour": "0 * * * *",
    "hourly": "0 * * * *",
    "every two hours": "0 */2 * * *",
    "every 15 minutes on weekdays": "*/15 * * * 1-5",
    "every hour at 15 minutes past": "15 * * * *",
    "every hour at :15": "15 * * * *",
    "every 2 hours at 15 minutes past": "15 */2 * * *",
    "every hour at 15 minutes past and 45 minutes past": "15,45 * * * *",
    "every 15m": "*/15 * * * *",
    "15 and 45 minutes past every hour": "15,45 * * * *",
    "first day of the month at 6": "0 6 1 * *",
    "last day of every month at 23:00": "0 23 L * *",
    "monthly on the 15th at 6": "0 6 15 * *",
    "every month on the 15th at 6": "0 6 15 * *",
    "1st and 15th of the month at 6": "0 6 1,15 * *",
    "day 1 and 15 of the month at 6": "0 6 1,15 * *",
    "first weekday of the month at 6": "0 6 1W * *",
    "last weekday of the month at 6": "0 6 LW * *",
    "last friday of the month 18:00": "0 18 * * 5L",
    "second tuesday of january and july at 7": "0 7 * 1,7 2#2",
    "every second friday of the month at 9": "0 9 * * 5#2",
    "first day of the quarter at 6": "0 6 1 1,4,7,10 *",
    "last day of the quarter at 6": "0 6 L 3,6,9,12 *",
    "last friday of every quarter at 6": "0 6 * 3,6,9,12 5L",
    "first weekday of the quarter at 6": "0 6 1W 1,4,7,10 *",
    "every 3 months on the 1st at 6": "0 6 1 1,4,7,10 *",
    "every 24 december at 18:00": "0 18 24 12 *",
    "every december 24 at 18:00": "0 18 24 12 *",
    "yearly on 24 december at 18:00": "0 18 24 12 *",
    "every day at 9 in january and june": "0 9 * 1,6 *",
    "24 december and 24 june at 9": "0 9 24 6,12 *",
    "1 january and 15 january at 9": "0 9 1,15 1 *",
    "every monday at 9 and every friday at 9": "0 9 * * 1,5",
    "every monday of the month at 9": "0 9 * * 1",
    "every day at 9am and 10 pm": "0 9,22 * * *",
    "every day at noon and 5pm": "0 12,17 * * *",
}
WORDS_BACK = [
    *CRON,
    "first working day of the month at 6",
    "2nd last working day of the month at 6",
]


def read(text: str) -> dict:
    return read_recurrence(text, now=NOW, zone=BERLIN)


@pytest.mark.parametrize(("text", "cron"), CRON.items())
def test_words_become_a_cron_expression(text, cron):
    assert read(text) == {"cron_expression": cron}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("first working day of the month at 6", {"cron_expression": "0 6 * * *", "working_day": 1}),
        (
            "last business day of the month at 6",
            {"cron_expression": "0 6 * * *", "working_day": -1},
        ),
        ("every 7 minutes", {"every": "PT7M"}),
        ("every 1 hour 30 minutes", {"every": "PT1H30M"}),
        (
            "last working day of the quarter at 6",
            {"cron_expression": "0 6 * 3,6,9,12 *", "working_day": -1},
        ),
        ("every 2 weeks", {"every": "P14D"}),
        ("every 1h30m", {"every": "PT1H30M"}),
        (
            "every 15 minutes from 2026-12-01 8:07 until 2027-01-01",
            {
                "every": "PT15M",
                "start_at": "2026-12-01T07:07:00.000Z",
                "end_at": "2026-12-31T23:00:00.000Z",
            },
        ),
        (
            "every weekday at 9 until 2027-01-01",
            {"cron_expression": "0 9 * * 1-5", "end_at": "2026-12-31T23:00:00.000Z"},
        ),
        (
            "every day at 9 till 2026-12-31T00:00:00+02:00",
            {"cron_expression": "0 9 * * *", "end_at": "2026-12-30T22:00:00.000Z"},
        ),
        (
            "every 2 hours until friday 18:00, from monday 9:00",
            {
                "every": "PT2H",
                "start_at": "2026-11-23T08:00:00.000Z",
                "end_at": "2026-11-27T17:00:00.000Z",
            },
        ),
    ],
)
def test_words_become_other_fields_where_cron_does_not_fit(text, fields):
    assert read(text) == fields


@pytest.mark.parametrize("text", WORDS_BACK)
def test_the_products_own_words_for_a_schedule_are_read_as_the_same_schedule(text):
    fields = read(text)
    said = parse("RECURRING", {**fields, "timezone": BERLIN.name}).text

    again = read(said)

    assert again.pop("working_day", None) == fields.pop("working_day", None)
    assert _meaning(again) == _meaning(fields)


@pytest.mark.parametrize("every", ["PT7M", "PT15M", "PT1H30M", "P1D", "P7D", "P14D"])
def test_the_products_own_words_for_a_rate_are_read_as_the_same_rate(every):
    fields = {"every": every, "start_at": "2026-12-01T07:07:00.000Z"}
    bounded = {**fields, "end_at": "2027-01-01T00:00:00.000Z", "timezone": BERLIN.name}

    again = read(parse("RECURRING", bounded).text)

    assert {**again, "timezone": BERLIN.name} == bounded


def _meaning(fields: dict) -> tuple:
    found = parse_cron(fields["cron_expression"])
    values = (found.seconds, found.minutes, found.hours, found.days, found.months, found.weekdays)
    rest = (found.days_before_last, found.nearest_to, found.last_workday, found.nth_weekdays)
    return (*values, *rest, found.fixed_time)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("every day", "has no time of day. Add one, like 'at 9'"),
        ("at 9", "has no day"),
        ("every quarter at 6", "has no day"),
        ("first friday at 9", "does not say of which month"),
        ("every second friday at 9", "does not say of which month"),
        ("every morning", "is not understood"),
        ("every 0 minutes", "is not understood"),
        ("every week", "is not understood"),
        ("every weekday at 9 sharp", "from 'sharp' on"),
        ("every day at 9:00 and 17:30", "Make two tasks"),
        ("every 2 hours at 9", "a rate and a time of its own"),
        ("every 7 minutes on monday", "divides its unit evenly"),
        ("every monday and 1st of the month at 9", "names days in two ways"),
        ("sixth friday of the month at 9", "is not understood"),
        ("6th friday of the month at 9", "at most five times"),
        ("32nd of the month at 9", "1 to 31"),
        ("every 5 months on the 1st at 9", "2, 3, 4 or 6"),
        ("75 minutes past the hour", "no minute 75"),
        ("every 30 minutes at :15", "with every hour"),
        ("every 2 days at :15", "with every hour"),
        ("every 5 minutes every 10 minutes", "has one rate"),
        ("every month on monday at 9", "no day of the month"),
        ("every 3 months on monday at 9", "no day of the month"),
        ("every 3 months in january on the 1st at 9", "not both"),
        ("in january every 3 months on the 1st at 9", "not both"),
        ("second quarter 17:00", "is not understood"),
        ("first and last day of the quarter at 6", "one day of the quarter"),
        ("every monday of the quarter at 6", "one day of the quarter"),
        ("31st of the quarter at 6", "one day of the quarter"),
        ("fifth friday of the quarter at 6", "one day of the quarter"),
        (
            "first working day of the month and last working day of the month at 6",
            "of working days and weekdays give one",
        ),
        ("every day at 9 and 10 pm", "Write am or pm behind each time"),
        ("every day at 9:30 and 10:30 pm", "Write am or pm behind each time"),
        ("every day at 9 and", "from 'and' on"),
        ("every day at 9 until", "from 'until' on"),
        ("every day at 9 from monday until friday from tuesday", "from 'from tuesday' on"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_reason(text, problem):
    with pytest.raises(PlainTimeError, match=problem):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "every monday at 9 and every friday at 17",
        "at 9 on monday and at 17 on friday",
        "24 december and 1 january at 9",
        "january 1 and july 15 at 9",
        "first monday of january and third friday of july at 9",
        "every monday in january and every friday in july at 9",
        "every monday at 9 in january and at 10 in july",
    ],
)
def test_days_with_times_of_their_own_are_refused_and_not_multiplied(text):
    with pytest.raises(PlainTimeError, match="every time on every day"):
        read(text)


def test_every_example_makes_a_schedule_that_the_product_accepts():
    for example in EXAMPLES:
        spec = parse("RECURRING", {**read(example), "timezone": "UTC"}, anchor=NOW)
        assert next(spec.walk(NOW)).at > NOW
