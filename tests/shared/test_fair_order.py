"""The order of waiting work: shares of tenants by weight, priority and age within a tenant."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.fair_order import FairOrder, PriorityOrder

Row = tuple[float, int]


def own(*work: tuple[int, float]) -> PriorityOrder[Row]:
    """Return a tenant's order with this work, each a priority and a due time."""
    made: PriorityOrder[Row] = PriorityOrder(10)
    for number, (priority, due) in enumerate(work):
        made.push(priority, (due, number))
    return made


def start(order: PriorityOrder[Row]) -> float:
    row = order.pop()
    order.started()
    return row[0]


class Queue:
    """A fair order whose rows name their tenant and number."""

    def __init__(self, credit: int = 0) -> None:
        self.order: FairOrder[Any] = FairOrder(10, credit)
        self._number = 0

    def put(self, tenant: str, count: int = 1, *, weight: float = 1, priority: int = 5) -> None:
        for _ in range(count):
            self._number += 1
            row = (float(self._number), self._number, tenant)
            self.order.push(tenant, 1 / weight, priority, row)

    def start(self, count: int = 1) -> str:
        """Start so much and return the tenants, each a letter."""
        started = ""
        for _ in range(count):
            assert self.order.first() is not None
            started += self.order.pop()[2]
            self.order.started()
        self.order.restore()
        return started


def test_the_lower_number_starts_first_then_the_sooner():
    order = own((6, 1.0), (3, 3.0), (3, 2.0), (0, 4.0), (9, 0.0))

    assert [start(order) for _ in range(5)] == [4.0, 2.0, 3.0, 1.0, 0.0]
    assert not order


def test_one_start_in_ten_of_a_tenant_is_its_oldest_work_of_any_priority():
    order = own(*((0, 100.0 + n) for n in range(20)), (6, 2.0), (9, 1.0))

    got = [start(order) for _ in range(22)]

    assert (got[9], got[19]) == (1.0, 2.0)
    assert got[:9] == [100.0 + n for n in range(9)]


def test_of_equally_old_work_the_lower_number_starts():
    order = own(*((4, 1.0) for _ in range(12)), *((6, 1.0) for _ in range(12)))

    assert [order._present[0] for _ in range(12) if start(order)] == [4] * 11 + [6]


def test_what_leaves_is_removed_and_the_rest_stays_in_order():
    order = own(*((n % 4 + 3, float(n)) for n in range(12)))

    gone = order.remove(lambda row: row[0] < 6)

    assert sorted(row[0] for row in gone) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(order) == 6
    assert start(order) == 8.0


def test_tenants_of_equal_weight_take_turns_whatever_each_has_waiting():
    queue = Queue()
    queue.put("a", 100)
    queue.put("b", 3)

    assert queue.start(10) == "abababaaaa"


def test_starts_are_in_proportion_to_weights():
    queue = Queue()
    for tenant, weight in (("a", 1), ("b", 2), ("c", 4)):
        queue.put(tenant, 1000, weight=weight)

    assert Counter(queue.start(700)) == {"a": 100, "b": 200, "c": 400}


def test_a_weight_that_changes_counts_from_the_next_work():
    queue = Queue()
    queue.put("a", 100)
    queue.put("b", 99)
    queue.start(20)

    queue.put("b", weight=4)

    assert Counter(queue.start(50)) == {"a": 10, "b": 40}


def test_a_tenant_that_comes_waits_for_no_backlog_and_catches_up_on_nothing():
    queue = Queue()
    queue.put("a", 1000)
    queue.start(500)

    queue.put("b", 10)

    assert queue.start(8) == "babababa"


def test_a_tenant_that_comes_again_and_again_gets_no_more_than_its_share():
    queue = Queue()
    for tenant in "abcdefghij":
        queue.put(tenant, 100)
    started = ""
    for _ in range(220):
        if not queue.order.waiting("z"):
            queue.put("z")
        started += queue.start()

    assert Counter(started)["z"] == 20


def test_urgent_work_takes_nothing_from_other_tenants():
    queue = Queue()
    queue.put("a", 100, priority=0)
    queue.put("b", 100, priority=9)

    assert queue.start(8) == "abababab"


def test_who_is_set_aside_is_left_out_of_one_pass():
    queue = Queue()
    queue.put("a", 5)
    queue.put("b", 5)

    assert queue.order.first() == "a"
    queue.order.set_aside()
    assert queue.order.first() == "b"
    queue.order.set_aside()
    assert queue.order.first() is None
    queue.order.restore()
    assert queue.start(4) == "abab"


def test_who_was_set_aside_for_long_comes_back_with_a_bounded_credit():
    queue = Queue(credit=3)
    queue.put("a", 100)
    queue.put("b", 200)
    for _ in range(50):
        assert queue.order.first() == "a"
        queue.order.set_aside()
        assert queue.start() == "b"

    assert queue.start(10) == "aaaababaab"[:4] + "bababa"


def test_tenants_without_work_are_forgotten():
    queue = Queue()
    for number in range(1000):
        queue.put(str(number))
    queue.put("a", 3)
    while len(queue.order) > 1:
        queue.start()

    assert queue.order.known <= 2
    queue.start()
    assert queue.order.known == 0


def test_everything_can_be_removed():
    queue = Queue()
    queue.put("a", 3)
    queue.put("b", 2)

    assert len(list(queue.order)) == 5
    assert len(queue.order.remove("a", lambda row: row[1] < 3)) == 2
    assert queue.order.remove("unknown", lambda row: True) == []
    queue.order.clear()

    assert (len(queue.order), queue.order.known, queue.order.first()) == (0, 0, None)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "start", "block", "aside", "restore", "remove"]),
        st.sampled_from("abcd"),
        st.integers(0, 9),
        st.sampled_from([0.5, 1, 4]),
    ),
    max_size=120,
)


@given(_STEPS)
def test_no_work_is_lost_or_started_twice(steps: list[tuple[str, str, int, float]]):
    order: FairOrder[Any] = FairOrder(10, 2)
    kept: set[Any] = set()
    aside: set[str] = set()
    for number, (what, tenant, priority, weight) in enumerate(steps):
        row = (float(priority), number, tenant)
        if what == "put":
            order.push(tenant, 1 / weight, priority, row)
            kept.add(row)
        elif what == "remove":
            kept -= set(order.remove(tenant, lambda one: one[1] % 2 == 0))
        elif what == "restore":
            order.restore()
            aside.clear()
        elif (first := order.first()) is None:
            assert {one[2] for one in kept} <= aside
        elif what == "aside":
            order.set_aside()
            aside.add(first)
        else:
            found = order.pop()
            assert found[2] == first
            kept.remove(found)
            if what == "start":
                order.started()
        assert len(order) == len(kept)
        assert set(order) == kept
    order.restore()
    while order.first() is not None:
        kept.remove(order.pop())
        order.started()
    assert not kept


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1, 2, 4, 8]), min_size=2),
    st.integers(20, 200),
)
def test_no_tenant_is_further_from_its_share_than_one_start(weights: dict[str, int], count: int):
    queue = Queue()
    for tenant, weight in weights.items():
        queue.put(tenant, count, weight=weight)
    started = Counter(queue.start(count))

    for one in weights:
        for other in weights:
            apart = abs(started[one] / weights[one] - started[other] / weights[other])
            assert apart <= 1 / weights[one] + 1 / weights[other]


def test_the_steps_are_those_of_the_tenants_that_have_work():
    queue = Queue()
    queue.put("a", weight=4)
    queue.put("b", 2, weight=2)
    queue.put("c")

    assert queue.start() == "a"
    queue.order.first()
    queue.order.set_aside()

    assert dict(queue.order.steps()) == {"b": 0.5, "c": 1.0}
