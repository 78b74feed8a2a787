from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.describe import cron_text
from tasks.schedules.zones import find_zone
from tests.tasks.schedules.instants import cron, every

EITHER, BOTH = "(either suffices)", "(both must match)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 8 * * *", "At 08:00, every day"),
        ("30 0 8 * * *", "At 08:00:30, every day"),
        ("* * * * *", "Every minute"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("5/15 * * * *", "Every 15 minutes, starting at 5 minutes past the hour"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("@hourly", "Every hour"),
        ("0 */2 * * *", "Every 2 hours"),
        ("1 2,4,6 * * *", "At 02:01, 04:01 and 06:01, every day"),
        ("0 4-4 * * *", "At 04:00, every day"),
        # A step beyond the field is not "every 90 minutes".
        ("*/90 * * * *", "Every hour"),
        ("3,*/20 * * * *", "At 0, 3, 20, and 40 minutes past the hour"),
        ("0 0 * * MON-FRI", "At 00:00, Monday through Friday"),
        ("0 0 * * 7", "At 00:00, on Sunday"),
        ("0 0 * * FRI-MON", "At 00:00, Friday through Monday"),
        ("0 0 * * THU-MON/2", "At 00:00, on Monday, Thursday, and Saturday"),
        ("0 0 1 NOV-FEB/2 *", "At 00:00, on day 1 of the month, in January and November"),
        ("0 0 * * 5/2", "At 00:00, on Friday"),
        ("0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 0 LW * *", "At 00:00, on the last weekday of the month"),
        ("0 0 L-3 * *", "At 00:00, 3 days before the last day of the month"),
        ("0 0 15W * *", "At 00:00, on the weekday nearest day 15 of the month"),
        ("0 0 L,15 * *", "At 00:00, on the last day of the month and on day 15 of the month"),
        ("0 0 * * 5L", "At 00:00, on the last Friday of the month"),
        (
            "0 0 * * 1#1,1#3",
            "At 00:00, on the first Monday of the month and on the third Monday of the month",
        ),
        ("0 0 1 1,7 *", "At 00:00, on day 1 of the month, in January and July"),
        ("10 2 * NOV-FEB 6-7", "At 02:10, Saturday through Sunday, November through February"),
        ("0 0 13 * 5", f"At 00:00, on day 13 of the month or on Friday {EITHER}"),
        (
            "0 0 L,1/20 * *",
            "At 00:00, on day 1 of the month and on day 21 of the month"
            " and on the last day of the month",
        ),
        # Not beginning with a star, the first field alone suffices, and it is always met.
        ("0 0 1,* * 5", "At 00:00, every day"),
        ("0 0 *,1 * 5", "At 00:00, on Friday"),
        ("0 *,5 * * *", "Every hour"),
        ("0 0 */2 * 1", f"At 00:00, every 2 days and on Monday {BOTH}"),
    ],
)
def test_cron_in_words(expression, words):
    assert cron(expression, "Europe/Berlin").text == f"{words}, Europe/Berlin"


def test_a_hash_is_told_by_its_values():
    assert cron("H(5-5) H(7-7) * * *").text == "At 07:05, every day, UTC"


def test_start_and_end_are_told_in_local_time():
    spec = cron(
        "0 8 * * *",
        "Europe/Berlin",
        start_at="2026-12-01T00:00:00Z",
        end_at="2026-12-31T00:00:00Z",
    )

    assert spec.text == (
        "At 08:00, every day, Europe/Berlin, from 2026-12-01 01:00:00, until 2026-12-31 01:00:00"
    )


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        ("PT1S", "Every second"),
        ("PT5M", "Every 5 minutes"),
        ("PT1H", "Every hour"),
        ("PT90M", "Every 1 hour 30 minutes"),
        ("P1D", "Every day"),
        ("P15DT1S", "Every 2 weeks 1 day 1 second"),
    ],
)
def test_a_fixed_rate_in_words(duration, words):
    assert every(duration).text == f"{words} from 2026-11-20 00:00:00, UTC"


def test_the_end_of_a_fixed_rate_is_told():
    spec = every("PT5M", end_at="2026-12-31T00:00:00Z", timezone="Asia/Tokyo")

    assert spec.text == (
        "Every 5 minutes from 2026-11-20 09:00:00 until 2026-12-31 09:00:00, Asia/Tokyo"
    )


def items(low: int, high: int, *special: str):
    value = st.integers(low, high)
    span = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    base = st.just("*") | value.map(str) | span
    stepped = st.tuples(base, st.integers(1, 99)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    one = base | stepped | st.sampled_from(["H", *special])
    return st.lists(one, min_size=1, max_size=4).map(",".join)


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(
        items(0, 59),
        items(0, 59),
        items(0, 23),
        items(1, 28, "L", "LW", "L-2", "15W"),
        items(1, 12, "JAN", "NOV-FEB"),
        items(0, 7, "5L", "FRI#2", "SAT-SUN"),
    ).map(" ".join)
)
def test_every_valid_expression_has_words(expression):
    text = cron_text(parse_cron(expression), find_zone("UTC"), None, None)

    assert text.endswith(", UTC")
    assert "{" not in text
    assert ", ," not in text
