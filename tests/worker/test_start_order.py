"""The order in which due work starts in a worker."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from worker.entries import Held
from worker.start_order import Row, StartOrder


def row(priority: int, due: float, token: int = 0) -> Row:
    entry: Any = {"start_by": 0}
    held = Held(due, priority, token, entry, entry)
    return held.due, held.token, held.nonce, held, due


def ordered(*rows: Row) -> StartOrder:
    made = StartOrder()
    for one in rows:
        made.push(one)
    return made


def start(order: StartOrder) -> tuple[int, float]:
    held = order.pop()[3]
    order.started(held)
    return held.priority, held.due


def test_the_lower_number_starts_first_then_the_sooner():
    order = ordered(row(6, 1.0), row(3, 3.0), row(3, 2.0), row(0, 4.0), row(9, 0.0))

    assert [start(order) for _ in range(5)] == [(0, 4.0), (3, 2.0), (3, 3.0), (6, 1.0), (9, 0.0)]
    assert not order


def test_one_start_in_ten_of_a_band_is_its_oldest_work():
    order = ordered(*(row(3, 100.0 + n) for n in range(40)), row(6, 1.0), row(5, 2.0), row(9, 0.0))

    got = [start(order)[0] for _ in range(30)]

    assert got == [*[3] * 9, 6, *[3] * 9, 5, *[3] * 10]


def test_bands_count_their_starts_apart():
    order = ordered(*(row(3, 100.0 + n) for n in range(5)), row(6, 1.0))
    for _ in range(9):
        order.push(row(0, 50.0))
        start(order)

    assert start(order)[0] == 3


def test_of_equally_old_work_the_lower_number_starts():
    order = ordered(*(row(4, 1.0, n) for n in range(12)), *(row(6, 1.0, n) for n in range(12)))

    assert [start(order)[0] for _ in range(12)] == [4] * 12


def test_what_leaves_is_removed_and_the_rest_stays_in_order():
    order = ordered(*(row(n % 4 + 3, float(n)) for n in range(12)))

    gone = order.remove(lambda one: one[0] < 6)

    assert sorted(one[0] for one in gone) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(order) == 6
    assert start(order) == (3, 8.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.booleans()), max_size=80))
def test_nothing_is_lost_and_the_number_is_right(steps: list[tuple[int, int, bool]]):
    order, kept = StartOrder(), list[Any]()
    for token, (priority, due, taken) in enumerate(steps):
        one = row(priority, float(due), token)
        order.push(one)
        kept.append(one)
        if taken:
            first = order.pop()
            order.started(first[3])
            kept.remove(first)
        assert len(order) == len(kept)
    assert sorted(order) == sorted(kept)
