from __future__ import annotations

from datetime import date

from tasks.ical.found import Source
from tasks.ical.nearest import Nearest

ONE, OTHER = Source(1), Source(2, "Named")
TODAY = date(2026, 1, 10)


def january(*days: int):
    return [(date(2026, 1, day), ONE) for day in days]


def test_coming_days_are_kept_before_past_ones_and_near_ones_before_far_ones():
    nearest = Nearest(TODAY, 3, "dates", "there is no room")

    nearest.add(january(1, 8, 9, 10, 20))

    assert [day.day for day, _ in nearest.kept()] == [9, 10, 20]
    assert list(nearest.dropped()) == [
        (
            ONE,
            "2 of its dates are left out, since there is no room; "
            "those from 2026-01-09 to 2026-01-20 are kept",
        )
    ]


def test_far_coming_days_are_dropped_where_all_are_coming():
    nearest = Nearest(TODAY, 2, "dates", "there is no room")

    for day in (25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15):
        nearest.add(january(day))

    assert [day.day for day, _ in nearest.kept()] == [15, 16]
    assert "9 of its dates" in next(nearest.dropped())[1]


def test_a_day_of_two_events_counts_once_under_the_first_name():
    nearest = Nearest(TODAY, 1, "dates", "there is no room")

    nearest.add([*january(11), (date(2026, 1, 11), OTHER)])

    assert nearest.kept() == [(date(2026, 1, 11), OTHER)]
    assert not list(nearest.dropped())


def test_without_room_nothing_is_kept():
    nearest = Nearest(TODAY, 0, "dates", "there is no room")

    nearest.add(january(11))

    assert nearest.kept() == []
    assert list(nearest.dropped()) == [(ONE, "1 of its dates is left out, since there is no room")]
