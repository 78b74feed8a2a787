from __future__ import annotations

from datetime import date, datetime

import pytest

from tasks.ical.rules import day_end, follow, read_rule
from tasks.ical.values import NotRead, Property
from tests.tasks.ical.files import local


def localize(until: date) -> datetime:
    return until.replace(tzinfo=None) if isinstance(until, datetime) else day_end(until)


def rule(text: str) -> str:
    return read_rule(Property(7, "RRULE", {}, text), localize)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" ; ;", ""),
        ("freq=daily;", "FREQ=DAILY"),
        ("FREQ=DAILY;COUNT=2;RSCALE=GREGORIAN", "FREQ=DAILY;COUNT=2"),
        ("UNTIL=20261231;FREQ=DAILY", "FREQ=DAILY;UNTIL=20261231T235959"),
        ("FREQ=DAILY;UNTIL=20261231T080000Z", "FREQ=DAILY;UNTIL=20261231T080000"),
        ("FREQ=YEARLY;BYWEEKNO=-1,20", "FREQ=YEARLY;BYWEEKNO=-1,20"),
    ],
)
def test_a_rule_is_written_as_the_library_reads_it(text, expected):
    assert rule(text) == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("COUNT=1", "has no FREQ"),
        ("FREQ=SOMETIMES", "cannot be read"),
        ("FREQ=DAILY;COUNT", "has a part without a value: 'COUNT'"),
        ("FREQ=DAILY;COUNT=", "has a part without a value"),
        ("FREQ=DAILY;COUNT=x", "cannot be read"),
        ("FREQ=DAILY;COUNT=0", "has COUNT=0; it has to be from 1"),
        ("FREQ=DAILY;COUNT=-1", "has COUNT=-1; it has to be from 1"),
        ("FREQ=DAILY;COUNT=1;COUNT=2", "has COUNT twice"),
        ("FREQ=DAILY;COUNT=1,2", "has too many values in COUNT"),
        ("FREQ=DAILY;INTERVAL=0", "has INTERVAL=0"),
        ("FREQ=DAILY;INTERVAL=-1", "has INTERVAL=-1"),
        ("FREQ=DAILY;INTERVAL=99999999999999999999", "cannot be read"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "has BYMONTHDAY=32"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "has BYMONTHDAY=0"),
        ("FREQ=MONTHLY;BYMONTHDAY=" + ",".join("1" * 401), "has too many values in BYMONTHDAY"),
        ("FREQ=MONTHLY;BYDAY=XX", "cannot be read"),
        ("FREQ=WEEKLY;BYDAY=1MO", "counts weekdays in BYDAY"),
        ("FREQ=YEARLY;BYEASTER=1", "has BYEASTER, which is not read"),
        ("FREQ=YEARLY;RSCALE=HEBREW", "has RSCALE, which is not read"),
        ("FREQ=DAILY;UNTIL=x", "cannot be read"),
        ("FREQ=DAILY;UNTIL=P1D", "has an UNTIL that is no date and no time"),
    ],
)
def test_a_rule_that_the_library_would_read_otherwise_is_refused(text, what):
    with pytest.raises(NotRead) as refused:
        rule(text)

    assert str(refused.value).startswith(f"its RRULE (line 7) {what}")


def test_a_rule_is_followed_until_the_last_moment_and_lazily():
    found = follow("FREQ=SECONDLY", local("2026-01-01"), local("2026-01-01 00:00:02"))

    assert [local.second for local in found] == [0, 1, 2]


def test_a_rule_that_contradicts_itself_is_refused_where_it_is_followed():
    with pytest.raises(NotRead, match="cannot be followed"):
        next(follow("FREQ=HOURLY;INTERVAL=2;BYHOUR=1", local("2026-01-01"), local("2027-01-01")))
