from __future__ import annotations

from operations.proof.ledger import Arrival
from operations.proof.oracle import Target
from operations.storm.takeover import takeovers
from tests.operations.storm.evidence import BEGIN_MS, arrival, strike, targets


def held_up(found: list[Target], from_s: float, until_s: float) -> list[Arrival]:
    """Return the arrivals of a run in which nothing began between the two moments."""
    begin, end = BEGIN_MS + from_s * 1000, BEGIN_MS + until_s * 1000
    return [
        arrival(one, late_ms=end - one.at_ms + 5 if begin <= one.at_ms < end else 5)
        for one in found
    ]


def test_a_takeover_lasts_until_the_work_that_waited_goes_on():
    found = targets()

    [one] = takeovers([strike(10.2)], found, held_up(found, 10.2, 17))

    assert one.seconds is not None
    assert 6.8 <= one.seconds <= 6.9
    assert one.kept


def test_work_that_was_handed_out_before_the_strike_hides_no_gap():
    found = targets()

    # Up to two seconds ahead had been handed to workers, and ran in time.
    [one] = takeovers([strike(10.2)], found, held_up(found, 12.5, 17))

    assert one.seconds is not None
    assert 6.8 <= one.seconds <= 6.9


def test_a_strike_that_nobody_notices_takes_less_than_two_seconds():
    found = targets()

    [one] = takeovers([strike(10.2)], found, held_up(found, 0, 0))

    assert one.seconds is not None
    assert one.seconds < 2


def test_the_task_that_waits_longest_decides():
    found = targets()
    slow = next(one.task_id for one in found if one.kind == "cron")
    arrivals = [
        one if one.task_id == slow else arrival(target)
        for one, target in zip(held_up(found, 10.2, 17), found, strict=True)
    ]

    [one] = takeovers([strike(10.2)], found, arrivals)

    assert one.seconds is not None
    assert one.seconds > 6


def test_ten_seconds_are_allowed_where_another_goes_on_and_thirty_for_a_restart():
    found = targets()
    arrivals = held_up(found, 10.2, 22)

    [beside] = takeovers([strike(10.2)], found, arrivals)
    [alone] = takeovers([strike(10.2, alone=True)], found, arrivals)

    assert (beside.most_seconds, beside.kept) == (10, False)
    assert (alone.most_seconds, alone.kept) == (30, True)


def test_a_further_strike_before_the_work_went_on_may_prolong_it():
    found = targets()

    first, second = takeovers([strike(10.2), strike(14.2)], found, held_up(found, 10.2, 22))

    assert (first.most_seconds, first.kept) == (20, True)
    assert (second.most_seconds, second.kept) == (10, True)


def test_what_was_not_late_yet_at_a_strike_is_laid_to_that_one():
    found = targets()

    # Everything went on after the first; what was due shortly before the second waited for it.
    first, second = takeovers([strike(10.2), strike(20.2)], found, held_up(found, 19.9, 26))

    assert first.seconds is not None
    assert second.seconds is not None
    assert first.seconds < 2
    assert 5.8 <= second.seconds <= 5.9


def test_without_a_watched_instant_there_is_no_figure():
    found = targets()

    [one] = takeovers([strike(31)], found, held_up(found, 0, 0))

    assert one.seconds is None
    assert one.kept
