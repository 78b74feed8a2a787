"""What is read, against recurring_ical_events on its own, and what that means for the business day.

The library reads the whole file there, with zones of the standard library; the product gives it
checked rules in local time. Lengths on nights of changed clocks are left out: the library adds them
in local time.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.calendar_content import Content
from tasks.calendar_import import Mode, with_days
from tasks.schedules.days_off import CalendarDays, day_number
from tests.tasks.ical.files import NOW, calendar, read_raw

_LOW, _HIGH = date(2021, 1, 2), date(2036, 12, 30)
_ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def occurrences(raw: bytes) -> list[tuple[date, date]]:
    """Return the start and end of every occurrence, as the library reads the file."""
    found = recurring_ical_events.of(icalendar.Calendar.from_ical(raw)).between(_LOW, _HIGH)
    return [(one["DTSTART"].dt, one["DTEND"].dt) for one in found]


def numbers(most: int) -> st.SearchStrategy[str]:
    """Return lists of numbers from 1 to the most."""
    some = st.lists(st.integers(1, most), min_size=1, max_size=3, unique=True)
    return some.map(lambda found: ",".join(map(str, found)))


@st.composite
def rules(draw) -> str:
    """Return a rule that comes to a day now and then."""
    frequency = draw(st.sampled_from(("DAILY", "WEEKLY", "MONTHLY", "YEARLY")))
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(1, 4))}"]
    if draw(st.booleans()):
        parts.append(f"BYMONTH={draw(numbers(12))}")
    by = draw(st.sampled_from(("", "BYDAY", "BYMONTHDAY", "nth")))
    if by == "BYDAY" or (by == "nth" and frequency in ("DAILY", "WEEKLY")):
        parts.append(f"BYDAY={draw(st.sampled_from(_DAYS))},{draw(st.sampled_from(_DAYS))}")
    elif by == "nth":
        parts.append(f"BYDAY={draw(st.sampled_from((1, 2, -1)))}{draw(st.sampled_from(_DAYS))}")
    elif by == "BYMONTHDAY" and frequency != "WEEKLY":
        parts.append(f"BYMONTHDAY={draw(numbers(28))}")
    end = draw(st.sampled_from(("", "COUNT", "UNTIL")))
    if end == "COUNT":
        parts.append(f"COUNT={draw(st.integers(1, 30))}")
    elif end == "UNTIL":
        parts.append(f"UNTIL={draw(st.integers(2023, 2035))}0615T120000Z")
    return ";".join(parts)


starts = st.datetimes(datetime.fromisoformat("2019-01-01"), datetime.fromisoformat("2026-12-31"))


@settings(max_examples=30, deadline=None)
@given(rules(), starts, st.sampled_from(_ZONES))
def test_a_rule_of_times_begins_when_the_library_says(rule, start, zone):
    raw = calendar(f"UID:a\nDTSTART;TZID={zone}:{start:%Y%m%dT%H%M%S}\nDURATION:PT1H\nRRULE:{rule}")
    low = datetime(2021, 2, 1, tzinfo=UTC)
    high = datetime(2036, 12, 1, tzinfo=UTC)

    found = read_raw(raw)

    if len(found.windows) == 10_000:
        low = found.windows[0][0]
    ours = {begin for begin, _, _ in found.windows if low <= begin <= high}
    assert ours == {
        begin.astimezone(UTC)
        for begin, _ in occurrences(raw)
        if isinstance(begin, datetime) and low <= begin <= high
    }


@settings(max_examples=30, deadline=None)
@given(rules(), starts)
def test_a_rule_of_days_has_the_days_that_the_library_says(rule, start):
    raw = calendar(f"UID:a\nDTSTART;VALUE=DATE:{start:%Y%m%d}\nRRULE:{rule}")

    ours = {day for day, _ in read_raw(raw).dates if _LOW <= day < _HIGH}

    assert ours == {begin for begin, _ in occurrences(raw) if _LOW <= begin < _HIGH}


FILE = calendar(
    "UID:h\nDTSTART;VALUE=DATE:20200501\nRRULE:FREQ=YEARLY",
    "UID:x\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227",
    "UID:w\nDTSTART;TZID=Europe/Berlin:20260107T220000\nDTEND;TZID=Europe/Berlin:20260108T013000\n"
    "RRULE:FREQ=WEEKLY;BYDAY=WE\nEXDATE;TZID=Europe/Berlin:20260114T220000",
    "UID:w\nRECURRENCE-ID;TZID=Europe/Berlin:20260121T220000\n"
    "DTSTART;TZID=Europe/Berlin:20260122T220000\nDTEND;TZID=Europe/Berlin:20260122T230000",
    "UID:w\nRECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20260603T220000\n"
    "DTSTART;TZID=Europe/Berlin:20260603T230000\nDTEND;TZID=Europe/Berlin:20260604T030000",
)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Tokyo"])
def test_every_half_hour_of_a_year_is_blocked_exactly_where_the_library_sees_an_event(zone):
    content, imported = with_days(Content("Ours"), read_raw(FILE), Mode.REPLACE, now=NOW)
    assert not imported.skipped.count
    blocks = CalendarDays(
        "Ours",
        dates=frozenset(date.fromisoformat(one["date"]) for one in content.dates),
        windows=tuple(
            (datetime.fromisoformat(one["start"]), datetime.fromisoformat(one["end"]))
            for one in content.windows
        ),
    )
    theirs = occurrences(FILE)
    timed = [(a, b) for a, b in theirs if isinstance(a, datetime) and isinstance(b, datetime)]
    whole = [(a, b) for a, b in theirs if not isinstance(a, datetime)]

    wrong = []
    for half_hour in range(2 * 24 * 364):
        at = datetime(2026, 1, 1, tzinfo=UTC) + half_hour * timedelta(minutes=30)
        local = at.astimezone(ZoneInfo(zone)).date()
        expected = any(a <= at < b for a, b in timed if abs(a - at).days < 3) or any(
            a <= local < b for a, b in whole
        )
        if blocks.excludes(at, day_number(local)) != expected:
            wrong.append(at)

    assert not wrong
