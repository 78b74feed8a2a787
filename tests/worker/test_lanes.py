"""Lanes: what may start with so many slots free, and what waits behind its destination only."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from worker.entries import Held
from worker.lanes import LOOK_SECONDS, PATIENCE_SECONDS, Lanes

NOW = 1000.0


def held(token: int, host: str = "", *, priority: int = 5, due: float = NOW) -> Held:
    entry: Any = {
        "id": f"e{token}",
        "tenant": "t",
        "destination": host,
        "start_by": int((due + 9) * 1000),
    }
    batch: Any = {}
    return Held(due, priority, token, entry, batch)


def filled(*helds: Held) -> Lanes:
    lanes = Lanes()
    for one in helds:
        lanes.put(one)
    return lanes


def tokens(found: list[Held]) -> list[int]:
    return [one.token for one in found]


def test_urgent_work_goes_first_then_by_due_time():
    lanes = filled(
        held(1, due=2), held(2, due=1), held(3, priority=0, due=3), held(4, priority=9, due=0)
    )

    assert tokens(lanes.take(3, NOW)) == [3, 2, 1]
    assert len(lanes) == 1


def test_a_destination_takes_as_many_slots_as_it_leaves_free():
    lanes = filled(*(held(number, "slow.example") for number in range(10)))

    assert len(lanes.take(8, NOW)) == 4
    assert lanes.take(4, NOW) == []
    assert lanes.blocked


def test_several_that_hang_leave_a_part_free():
    lanes = filled(*(held(n, f"{n % 3}.example") for n in range(300)))

    assert len(lanes.take(100, NOW)) < 90


def test_work_behind_a_full_lane_starts():
    lanes = filled(*(held(number, "slow.example") for number in range(10)), held(99, "a.example"))

    assert tokens(lanes.take(8, NOW)) == [0, 1, 2, 3, 99]
    lanes.put(held(100, "b.example"))
    assert tokens(lanes.take(3, NOW)) == [100]


def test_of_ten_starts_of_a_band_one_is_its_oldest_work():
    lanes = filled(*(held(n, priority=3) for n in range(20)), held(99, priority=6, due=NOW - 60))

    assert tokens(lanes.take(10, NOW)) == [*range(9), 99]


def test_a_lane_lets_one_in_ten_out_by_age():
    lanes = filled(*(held(n, "slow.example", priority=3) for n in range(30)))
    lanes.put(held(99, "slow.example", priority=6, due=NOW - 60))
    got = tokens(lanes.take(1, NOW))
    for _ in range(10):
        lanes.ended("t:slow.example")
        got += tokens(lanes.take(1, NOW))

    assert got == [*range(9), 99, 9]


def test_one_slot_is_anybodys():
    lanes = filled(held(1, "a.example"), held(2, "a.example"))

    assert tokens(lanes.take(1, NOW)) == [1]
    lanes.ended("t:a.example")
    assert tokens(lanes.take(1, NOW)) == [2]


def test_work_without_a_destination_may_have_every_slot():
    lanes = filled(*(held(number) for number in range(10)))

    assert len(lanes.take(8, NOW)) == 8


def test_a_lane_goes_on_in_its_order_when_a_request_ends():
    lanes = filled(*(held(number, "slow.example", due=NOW + number) for number in range(6)))
    assert tokens(lanes.take(4, NOW)) == [0, 1]
    lanes.put(held(9, "slow.example", priority=0))

    lanes.ended("t:slow.example")

    assert tokens(lanes.take(3, NOW)) == [9]


def test_what_was_refused_waits_for_its_moment_or_for_one_that_ends():
    lanes = filled(held(1, "a.example"), held(2, "a.example"), held(3, "a.example"))
    first, second, third = lanes.take(10, NOW)
    for one in (second, third):
        lanes.give_back(one.lane)
        lanes.refuse(one, NOW + LOOK_SECONDS)
    lanes.put(held(4, "a.example"))

    assert lanes.take(10, NOW) == []
    lanes.ended(first.lane)
    assert tokens(lanes.take(10, NOW)) == [2]
    assert tokens(lanes.take(10, NOW + LOOK_SECONDS)) == [3, 4]
    assert not lanes.blocked


def test_what_waits_too_long_in_its_lane_is_given_up():
    lanes = filled(*(held(number, "slow.example") for number in range(4)))
    lanes.take(4, NOW)

    assert lanes.overdue(NOW + PATIENCE_SECONDS) == []
    assert tokens(lanes.overdue(NOW + PATIENCE_SECONDS + 0.1)) == [2, 3]
    assert len(lanes) == 0
    assert not lanes.blocked


def test_only_what_waits_too_long_is_given_up():
    lanes = filled(*(held(number, "a.example") for number in range(2)))
    lanes.put(held(7, "a.example", due=NOW + 5))
    lanes.take(2, NOW)

    assert tokens(lanes.overdue(NOW + PATIENCE_SECONDS + 0.1)) == [1]
    assert len(lanes) == 1


def test_what_waits_is_looked_through_once_in_a_while_not_at_every_end():
    lanes = filled(*(held(number, "a.example", due=NOW + number) for number in range(4)))
    lanes.take(2, NOW)
    late = NOW + PATIENCE_SECONDS + 2.1

    assert tokens(lanes.overdue(late)) == [1, 2]
    assert lanes.overdue(late + 0.04) == []
    assert tokens(lanes.overdue(late + 1)) == [3]


LATE = NOW + PATIENCE_SECONDS + 0.1


def ending(lanes: Lanes) -> None:
    """Let what has taken a slot end within a tenth of a second, and others take their turn."""
    running = lanes.take(4, NOW)
    for tenth in range(1, round((LATE - NOW) * 10)):
        for one in running:
            lanes.ended(one.lane)
        running = lanes.take(4, NOW + tenth / 10)
        assert len(running) == 2


def test_what_a_quick_destination_gets_to_in_time_stays():
    lanes = filled(*(held(number, "quick.example") for number in range(90)))
    ending(lanes)

    assert lanes.overdue(LATE) == []
    assert len(lanes) == 48


def test_more_than_a_quick_destination_gets_to_in_time_is_given_up():
    lanes = filled(*(held(number, "quick.example") for number in range(400)))
    ending(lanes)

    assert len(lanes.overdue(LATE)) == 358


def test_a_destination_that_is_quick_no_longer_keeps_nothing():
    lanes = filled(*(held(number, "quick.example") for number in range(90)))
    ending(lanes)
    assert lanes.overdue(LATE) == []

    lanes.take(2, LATE + 1.0)

    assert len(lanes.overdue(LATE + 1.0)) == 48


def test_what_the_start_guard_has_no_place_for_is_given_up_however_quick_it_was():
    lanes = filled(*(held(number, "quick.example") for number in range(90)))
    ending(lanes)

    lanes.refuse(held(99, "quick.example"), LATE + 5.0)

    assert len(lanes.overdue(LATE)) == 49


def test_everything_can_be_taken_back():
    lanes = filled(held(1), *(held(number, "a.example") for number in range(2, 6)))
    lanes.take(2, NOW)

    assert sorted(tokens(lanes.clear())) == [3, 4, 5]
    assert len(lanes) == 0


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from(["", "a", "b", "c"])),
            st.tuples(st.just("take"), st.just("")),
            st.tuples(st.just("end"), st.just("")),
            st.tuples(st.just("refuse"), st.just("")),
        ),
        max_size=120,
    )
)
def test_nothing_is_lost_and_no_more_slots_are_taken_than_there_are(steps):
    slots, lanes, put, done = 6, Lanes(), 0, 0
    flying: list[Any] = []
    for number, (what, host) in enumerate(steps):
        if what == "put":
            lanes.put(held(number, host))
            put += 1
        elif what == "take":
            flying += lanes.take(slots - len(flying), NOW + number)
        elif flying and what == "end":
            lanes.ended(flying.pop().lane)
            done += 1
        elif flying and flying[-1].lane:
            refused = flying.pop()
            lanes.give_back(refused.lane)
            lanes.refuse(refused, NOW + number + 3)
        assert len(flying) <= slots
        assert len(lanes) + len(flying) + done == put
    while len(lanes) or flying:
        steps.append(("", ""))
        flying += lanes.take(slots - len(flying), NOW + 1000 + len(steps))
        lanes.ended(flying.pop().lane)


def test_two_copies_of_a_message_may_wait_beside_each_other():
    lanes = filled(held(1), held(1))

    assert tokens(lanes.take(2, NOW)) == [1, 1]
