"""What is remembered from look to look, while looking past what is done is dear."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from executions.loop import lower_bounds
from executions.loop.lower_bounds import NEVER, LowerBounds
from tests.support.clocks import DEAR, Clock, clock

__all__ = ["clock"]

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LATER = NOON + HOUR
LATE = NOON + timedelta(days=30)


def look(bounds: LowerBounds, *found: datetime, scope: object = None) -> list[datetime]:
    asked = list(bounds.begin(scope))
    bounds.end(found, NOON)
    return asked


def sweep(bounds: LowerBounds, clock: Clock, cost: float = 0.02) -> list[tuple[datetime, datetime]]:
    """Look at every part once, each as soon as it is wanted."""
    parts: list[tuple[datetime, datetime]] = []
    clock.step = 0.0
    while bounds.in_force and (not parts or parts[-1][1] < bounds._highest):
        clock.now += bounds.next_in
        part = bounds.part()
        assert part is not None
        clock.now += cost
        bounds.swept([None] * len(bounds._found))
        parts.append(part)
    return parts


def test_a_look_begins_where_the_last_one_has_found_something():
    bounds = LowerBounds(2)

    assert look(bounds, NOON, LATER) == [NEVER, NEVER]
    assert bounds.since == [NOON, LATER]
    assert look(bounds, LATER, LATER) == [NOON, LATER]
    assert look(bounds, LATER, LATER) == [LATER, LATER]


def test_a_look_that_is_cheap_is_always_a_whole_one(clock: Clock):
    clock.step = DEAR * 0.9
    bounds = LowerBounds()

    assert [look(bounds, NOON) for _ in range(5)] == [[NEVER]] * 5
    assert bounds.since == [NEVER]
    assert bounds.part() is None
    assert bounds.next_in == float("inf")


def test_what_lies_below_is_looked_at_part_by_part_without_a_gap(clock: Clock):
    bounds = LowerBounds(2)
    look(bounds, NOON, NOON)
    look(bounds, LATER, LATER + HOUR)

    parts = sweep(bounds, clock)

    assert (parts[0], parts[-1][1]) == ((NEVER, NOON), LATER + HOUR)
    assert all(after[0] == before[1] for before, after in pairwise(parts))
    assert bounds.in_force
    # And once more from the first on.
    assert sweep(bounds, clock)[0] == (NEVER, NOON)


@pytest.mark.parametrize("seconds", [0.000_05, 0.000_5])
def test_parts_are_as_long_as_can_be_looked_at_quickly(clock: Clock, seconds: float):
    """Of which each second takes so long."""
    bounds = LowerBounds()
    look(bounds, NOON)
    look(bounds, LATER)
    clock.step = 0.0
    costs: list[float] = []
    while not costs or bounds._part[1] != NEVER:
        clock.now += bounds.next_in
        part = bounds.part()
        assert part is not None
        costs.append(seconds * (part[1] - max(part[0], NOON)).total_seconds())
        clock.now += costs[-1]
        bounds.swept([None])

    assert max(costs) <= 0.04
    assert len(costs) < 10 + HOUR / lower_bounds._LONGEST_STEP + 2 * sum(costs) / 0.02


@pytest.mark.parametrize("cost", [0.0, 0.000_1, 10.0])
def test_parts_have_a_length_however_quick_or_slow_they_are(clock: Clock, cost: float):
    bounds = LowerBounds()
    look(bounds, NOON)
    clock.step = 0.0
    for second in range(1, 200):
        bounds.begin()
        bounds.in_force = True  # as beside much that is done
        bounds.end([NOON + timedelta(seconds=second / 10)], NOON)
        clock.now += bounds.next_in
        part = bounds.part()
        assert part is not None
        assert part[0] <= part[1]
        clock.now += cost
        bounds.swept([None])

    assert timedelta(milliseconds=10) <= bounds._step <= timedelta(minutes=1)


def test_a_part_follows_after_twenty_times_what_the_last_one_took(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    look(bounds, LATER)
    clock.step = 0.0
    assert bounds.part() is not None
    clock.now += 0.5
    bounds.swept([None])

    assert bounds.next_in == pytest.approx(10.0)
    assert bounds.part() is None
    clock.now += 10.0
    assert bounds.part() is not None


def test_what_a_part_shows_is_looked_for_in_its_order(clock: Clock):
    bounds = LowerBounds(2)
    look(bounds, LATER, LATER)
    assert bounds.part() is not None

    bounds.swept([None, NOON])

    assert bounds.since == [LATER, NOON]


def test_once_what_lay_in_front_is_gone_each_look_is_a_whole_one_again(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)

    sweep(bounds, clock, 0.0)

    assert not bounds.in_force
    assert [look(bounds, NOON) for _ in range(3)] == [[NEVER]] * 3


def test_what_is_said_to_be_written_below_is_looked_for():
    bounds = LowerBounds(2)
    look(bounds, NOON, LATER)

    bounds.lower(NOON + timedelta(minutes=1))

    assert bounds.since == [NOON, NOON + timedelta(minutes=1)]


def test_what_others_write_is_looked_for_from_shortly_before_the_last_look_on():
    bounds = LowerBounds(2)
    bounds.heard()
    look(bounds, NOON - HOUR, LATER)

    bounds.heard()

    assert bounds.since == [NOON - HOUR, NOON - timedelta(seconds=10)]


def test_what_others_say_when_it_comes_is_looked_for_from_there_on():
    bounds = LowerBounds(2)
    look(bounds, NOON, LATER)

    bounds.heard(NOON + timedelta(minutes=5))

    assert bounds.since == [NOON, NOON + timedelta(minutes=5)]


def test_what_was_lowered_hides_no_part_from_the_looks_below(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    look(bounds, LATER)
    bounds.lower(NOON - HOUR)

    parts = sweep(bounds, clock)

    assert parts[-1][1] == LATER
    assert bounds.in_force


@pytest.mark.parametrize("forgotten", [True, False])
def test_what_is_asked_anew_is_looked_for_from_the_first_on_while_that_is_cheap(
    clock: Clock, forgotten: bool
):
    clock.step = DEAR * 0.9
    bounds = LowerBounds()
    look(bounds, NOON, scope="a")

    if forgotten:
        bounds.forget()
        assert not bounds.known

    assert look(bounds, NOON, scope="a" if forgotten else "b") == [NEVER]


@pytest.mark.parametrize("forgotten", [True, False])
def test_what_is_asked_anew_is_looked_for_in_parts_at_once_where_all_is_dear(
    clock: Clock, forgotten: bool
):
    bounds = LowerBounds()
    look(bounds, LATER, scope="a")
    look(bounds, LATER, scope="a")
    sweep(bounds, clock, DEAR)
    assert bounds.next_in == 20 * DEAR

    if forgotten:
        bounds.forget()

    # What was written just now is looked for at once, the rest in half of the time.
    asked = look(bounds, LATER, scope="a" if forgotten else "b")
    assert (asked, bounds.next_in) == ([NOON - timedelta(seconds=10)], 0.0)
    assert sweep(bounds, clock, DEAR) == [(NEVER, LATER)]
    assert bounds.next_in == 2 * DEAR
    # And no more than that.
    assert sweep(bounds, clock, DEAR) == [(NEVER, LATER)]
    assert bounds.next_in == 20 * DEAR


def test_what_is_asked_anew_again_and_again_is_looked_for_to_the_last_part(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    look(bounds, LATER)
    clock.step = 0.0
    parts: list[tuple[datetime, datetime]] = []
    while not parts or parts[-1][1] < LATER:
        bounds.forget()
        clock.now += bounds.next_in
        part = bounds.part()
        assert part is not None
        clock.now += DEAR
        bounds.swept([None])
        parts.append(part)

    assert all(after[0] == before[1] for before, after in pairwise(parts))
    # The next round is in a hurry too, the one after it is not.
    assert bounds.next_in == 2 * DEAR
    sweep(bounds, clock, DEAR)
    clock.now += bounds.next_in
    assert bounds.part() == (NEVER, NOON)
    clock.now += DEAR
    bounds.swept([None])
    assert bounds.next_in == pytest.approx(20 * DEAR)


def test_a_first_part_that_is_given_up_is_shorter_from_then_on(clock: Clock):
    """As for a process that starts beside much that is done."""
    bounds = LowerBounds()
    look(bounds, LATER)

    ends = [give_up(bounds, clock)[1] for _ in range(4)]

    assert [(LATER - end).total_seconds() / 60 for end in ends] == [0, 10, 20, 40]
    assert sweep(bounds, clock)[-1][1] == LATER


def test_a_first_part_is_looked_at_however_long_that_takes_a_year_back(clock: Clock):
    bounds = LowerBounds()
    look(bounds, LATER)
    ends: list[datetime] = []
    while not ends or bounds.limit is not None:
        ends.append(give_up(bounds, clock)[1])

    assert bounds.part() is None
    clock.now += bounds.next_in
    assert bounds.part() == (NEVER, LATER - timedelta(days=365))
    assert len(ends) < 20


def test_a_part_that_is_given_up_is_looked_at_in_shorter_ones(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    look(bounds, LATER)
    clock.step = 0.0
    clock.now += bounds.next_in
    bounds.part()
    bounds.swept([None])

    lengths: list[float] = []
    while bounds.limit is not None:
        begin, end = give_up(bounds, clock)
        assert begin == NOON
        lengths.append((end - begin).total_seconds())

    assert lengths == [1.0, 1 / 8, 1 / 64]
    # The shortest is looked at however long that takes, and nothing is left out.
    assert bounds.part() is None
    assert sweep(bounds, clock)[0][0] == NOON


def give_up(bounds: LowerBounds, clock: Clock) -> tuple[datetime, datetime]:
    clock.step = 0.0
    clock.now += bounds.next_in
    part = bounds.part()
    assert part is not None
    assert bounds.limit is not None
    clock.now += bounds.limit
    bounds.cut_off()
    return part


class World:
    """Work that others write, unheard for the most part, while one looks, sweeps and takes."""

    def __init__(self, seed: int, density: float, clock: Clock) -> None:
        self.random, self.density, self.clock = random.Random(seed), density, clock
        clock.step = 0.0
        self.bounds = LowerBounds(3)
        #: (due, order, written at)
        self.waiting: list[tuple[datetime, int, float]] = []
        self.longest = 0.0

    @property
    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.clock.now)

    def first(self, order: int, since: datetime, before: datetime) -> datetime | None:
        return min(
            (due for due, of, _ in self.waiting if of == order and since <= due < before),
            default=None,
        )

    def spend(self, since: datetime, before: datetime) -> None:
        """Step over what is done in this stretch."""
        done = (min(before, self.now) - max(since, NOON)).total_seconds()
        self.clock.now += 0.0005 + max(0.0, done) * self.density

    def write(self) -> None:
        ago = self.random.choice([0, 5, 60, 3600, 86400]) * self.random.random()
        due = self.now - timedelta(seconds=ago)
        self.waiting.append((due, self.random.randrange(3), self.clock.now))
        if self.random.random() < 0.3:
            self.bounds.heard(due)

    def look(self) -> None:
        since = list(self.bounds.begin(self.random.random() < 0.999))
        found = [self.first(order, since[order], LATE) or self.now for order in range(3)]
        self.spend(min(since), LATE)
        self.bounds.end(found, self.now)
        if part := self.bounds.part():
            hidden = [self.first(order, *part) for order in range(3)]
            began, limit = self.clock.now, self.bounds.limit
            self.spend(*part)
            if limit is not None and self.clock.now > began + limit:
                self.clock.now = began + limit
                self.bounds.cut_off()
            else:
                self.bounds.swept(hidden)

    def take(self) -> None:
        for one in list(self.waiting):
            if one[0] >= self.bounds.since[one[1]]:
                self.waiting.remove(one)
                self.longest = max(self.longest, self.clock.now - one[2])


@pytest.mark.parametrize("density", [0.0, 0.000_01, 0.000_1, 0.001])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_stays_hidden_for_longer_than_forty_times_a_look_at_everything(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, seed: int, density: float
):
    monkeypatch.setattr(lower_bounds, "_CHEAP_SECONDS", 0.005)
    monkeypatch.setattr(lower_bounds, "_MOST_SECONDS", 0.1)
    world = World(seed, density, clock)
    for _ in range(1500):
        if world.random.random() < 0.05:
            world.write()
        world.look()
        world.take()
        clock.now += world.random.choice([0.05, 0.2, 0.4])

    # A first part that is all of it, and a whole cycle after that.
    assert world.longest < 45 * max(0.1, clock.now * density) + 3
