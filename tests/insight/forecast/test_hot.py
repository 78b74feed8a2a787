from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from insight.forecast.hot import LEAST_STARTS, Contribution, find_hot_spots
from tasks.schedules.minutes import Stretch

START = datetime(2026, 11, 20, tzinfo=UTC)
DAY = Stretch(START, 1440)


def part(starts: dict[int, int], tasks: int, destination: str = "a.example:443") -> Contribution:
    return Contribution(starts, tasks, {destination: tasks}, [uuid4()])


def find(*parts: tuple[dict[int, int], Contribution]):
    totals: dict[int, int] = {}
    for starts, _ in parts:
        for number, count in starts.items():
            totals[number] = totals.get(number, 0) + count
    return find_hot_spots(DAY, totals, [one for _, one in parts])


def of(starts: dict[int, int], tasks: int, destination: str = "a.example:443"):
    return starts, part(starts, tasks, destination)


def test_a_minute_in_which_many_tasks_meet_stands_out():
    [spot] = find(of({480: 400}, 400), of({480: 12}, 12, "b.example:443"), of({500: 1}, 1))

    assert (spot.at, spot.count, spot.tasks) == (START + timedelta(hours=8), 412, 412)
    assert spot.destinations == [("a.example:443", 400), ("b.example:443", 12)]
    assert len(spot.sample) == 2


def test_a_load_that_is_always_high_has_no_hot_spot():
    assert find(of(dict.fromkeys(range(1440), 60), 1)) == []


def test_a_minute_above_a_load_that_is_always_high_stands_out():
    steady = of(dict.fromkeys(range(1440), 60), 1)

    assert [spot.count for spot in find(steady, of({600: 500}, 500))] == [560]


def test_a_few_starts_are_no_hot_spot():
    assert find(of({5: LEAST_STARTS - 1}, LEAST_STARTS - 1)) == []
    assert len(find(of({5: LEAST_STARTS}, LEAST_STARTS))) == 1


def test_the_same_tasks_are_shown_once_at_their_first_minute():
    [spot] = find(of({300: 50, 60: 50, 900: 50}, 50))

    assert (spot.at, spot.repeats) == (START + timedelta(hours=1), 2)


def test_only_the_tasks_of_the_minute_are_counted_of_a_group_that_is_spread():
    [first, *_] = find(of({10: 30, 11: 20}, 50))

    assert (first.count, first.tasks, first.destinations) == (30, 30, [("a.example:443", 30)])


def test_a_contribution_knows_its_starts():
    found = part({3: 2, 1: 5}, 1)

    assert [found.starts_at(number) for number in range(4)] == [0, 5, 0, 2]
