from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from delivery.http_messages import Response
from delivery.retry_after import asked_by, parse_retry_after

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
UNIX = int(NOW.timestamp())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("5", 5), ("0", 0), ("-1", 0), ("+7", 7), (" 12 ", 12), ("\t12\t", 12), ("86401", 86400)),
        *(("1000000000000", 86400), ("9" * 5000, 86400), ("-" + "9" * 5000, 0)),
        *(("0" * 5000 + "7", 7), ("", None), ("soon", None), ("5s", None), ("5 6", None)),
        *(("0x10", None), ("٣", None), ("5, 6", None), ("1e3", None), ("7,5", None)),
        *(("inf", None), ("nan", None), ("1_0", None), (".", None), ("\x00", None), (",", None)),
    ],
)
def test_seconds_are_read_and_clamped(value: str, seconds: float | None):
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7.5", 8), ("7.0", 7), ("0.1", 1), (".5", 1), ("7.", 7), ("-0.5", 0), ("86399.5", 86400)],
)
def test_a_part_of_a_second_counts_as_a_whole_one(value: str, seconds: float):
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *((f"{UNIX + 90}", 90), (f"{UNIX + 90}.5", 90.5), (f"{UNIX}", 0), (f"{UNIX - 90}", 0)),
        *((f"{UNIX * 1000 + 90_500}", 90.5), (f"{UNIX * 1000 - 1}", 0)),
        *((f"{UNIX - 6 * 365 * 86400}", 0), (f"{UNIX + 3 * 86400}", 86400), ("4102444800", 86400)),
    ],
)
def test_unix_time_is_the_moment_when_the_wait_ends(value: str, seconds: float):
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("Fri, 20 Nov 2026 08:01:30 GMT", 90), ("Fri, 20 Nov 2026 07:00:00 GMT", 0)),
        *(("Friday, 20-Nov-26 08:01:30 GMT", 90), ("Fri Nov 20 08:00:10 2026", 10)),
        *(("Fri, 20 Nov 2026 09:00:20 +0100", 20), ("Sun Nov  1 08:00:10 2026", 0)),
        *(("Fri, 31 Dec 9999 23:59:59 GMT", 86400), ("Fri, 20 Nov 99999 08:00:00 GMT", None)),
        ("Fri, 99 Nov 2026 08:00:00 GMT", None),
    ],
)
def test_a_date_is_read_in_each_of_its_three_forms(value: str, seconds: float | None):
    assert parse_retry_after(value, NOW) == seconds


def test_a_date_that_no_clock_can_reach_means_nothing():
    west = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)

    assert parse_retry_after("Mon, 01 Jan 0001 00:00:00 +2300", west) in (0.0, None)


@pytest.mark.parametrize("text", ["1" * 200_000 + "x", "1" * 200_000 + ".x", " " * 200_000])
def test_a_long_value_without_sense_is_read_once(text: str):
    """A receiver chooses it; reading it in every way that it could be read would take hours."""
    assert parse_retry_after(text, NOW) is None


def test_an_answer_asks_by_its_header_in_any_spelling():
    def answer(*headers: tuple[str, str]) -> Response:
        return Response(429, [("Date", "x"), *headers], b"", False, {}, "192.0.2.1")

    assert asked_by(answer(("retry-AFTER", "7"), ("Retry-After", "9"))) == 7
    assert asked_by(answer(("Retry-After", "soon"))) is None
    assert asked_by(answer()) is None
