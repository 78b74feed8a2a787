from __future__ import annotations

from datetime import timedelta

import pytest

from tasks.schedules.base import Occurrence
from tests.tasks.schedules.instants import cron, every, once, utc

SPECS = {
    "cron": cron("*/20 8 * * *", "Europe/Berlin"),
    "interval": every("PT25M", start="2026-11-20 03:00"),
    "once": once("2026-11-21 05:00"),
}
START, END = utc("2026-11-20 00:00"), utc("2026-11-23 00:00")


@pytest.fixture(params=list(SPECS.values()), ids=list(SPECS))
def spec(request):
    return request.param


def test_listing_equals_stepping(spec):
    listed = spec.between(START, END, 1000)
    stepped = []
    occurrence = spec.next_after(START)
    while occurrence is not None and occurrence.at <= END:
        stepped.append(occurrence)
        occurrence = spec.next_after(occurrence.at)

    assert listed == stepped
    assert listed


def test_the_range_is_open_at_its_start_and_closed_at_its_end(spec):
    first = spec.next_after(START).at

    assert spec.between(first - timedelta(microseconds=1), first, 9) == [Occurrence(first)]
    assert spec.between(first, first, 9) == []


def test_counting_equals_listing_up_to_any_limit(spec):
    for limit in (0, 1, 3, 1000):
        listed = spec.between(START, END, limit)
        last = listed[-1].at if listed else None

        assert spec.count_between(START, END, limit) == (len(listed), last)


def test_nothing_lies_in_a_range_that_runs_backwards(spec):
    assert spec.between(END, START, 9) == []
    assert spec.count_between(END, START, 9) == (0, None)


def test_next_from_includes_the_moment_itself(spec):
    first = spec.next_after(START)

    assert spec.next_from(first.at) == first
    assert spec.next_from(START) == first
