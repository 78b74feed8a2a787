from __future__ import annotations

from worker.tally import Tally


class Clock:
    def __init__(self) -> None:
        self.seconds = 600.0

    def __call__(self) -> float:
        return self.seconds


def test_what_ended_is_counted_by_the_minute_in_which_it_did():
    clock = Clock()
    tally = Tally(clock)
    for seconds in (600.0, 659.9, 660.0):
        clock.seconds = seconds
        tally.add()

    assert tally.by_minute() == {"10": 2, "11": 1}
    assert tally.total == 3


def test_only_the_last_minutes_are_told_and_the_total_stays():
    clock = Clock()
    tally = Tally(clock)
    for minute in range(10, 20):
        clock.seconds = minute * 60.0
        tally.add()

    assert list(tally.by_minute()) == ["15", "16", "17", "18", "19"]
    clock.seconds = 30 * 60.0
    assert tally.by_minute() == {}
    assert tally.total == 10
