from __future__ import annotations

from tasks.ical.limits import Limits


def test_an_event_has_a_part_of_the_time_of_its_file():
    assert Limits().event_seconds < Limits().file_seconds
