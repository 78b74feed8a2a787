"""Lanes: what may start with so many slots free, and what waits behind its destination only."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.conf import conf
from worker.entries import Held
from worker.lanes import LOOK_SECONDS, PATIENCE_SECONDS, Lanes

NOW = 1000.0
CAPACITY = conf().worker_capacity


def held(token: int, host: str = "", *, priority: int = 5, due: float = NOW, **parts: Any) -> Held:
    entry: Any = {
        "id": f"e{token}",
        "tenant": "t",
        "destination": host,
        "start_by": int((due + 9) * 1000),
        **parts,
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


def test_of_ten_starts_of_a_tenant_one_is_its_oldest_work():
    lanes = filled(*(held(n, priority=0) for n in range(20)), held(99, priority=9, due=NOW - 60))

    assert tokens(lanes.take(10, NOW)) == [*range(9), 99]


def test_a_lane_lets_one_in_ten_out_by_age():
    lanes = filled(*(held(n, "slow.example", priority=3) for n in range(30)))
    lanes.put(held(99, "slow.example", priority=6, due=NOW - 60))
    got = tokens(lanes.take(1, NOW))
    for _ in range(10):
        lanes.ended(held(0, "slow.example"))
        got += tokens(lanes.take(1, NOW))

    assert got == [*range(9), 99, 9]


def test_one_slot_is_anybodys():
    lanes = filled(held(1, "a.example"), held(2, "a.example"))

    assert tokens(lanes.take(1, NOW)) == [1]
    lanes.ended(held(1, "a.example"))
    assert tokens(lanes.take(1, NOW)) == [2]


def test_work_without_a_destination_may_have_every_slot():
    lanes = filled(*(held(number) for number in range(10)))

    assert len(lanes.take(8, NOW)) == 8


def test_a_lane_goes_on_in_its_order_when_a_request_ends():
    lanes = filled(*(held(number, "slow.example", due=NOW + number) for number in range(6)))
    assert tokens(lanes.take(4, NOW)) == [0, 1]
    lanes.put(held(9, "slow.example", priority=0))

    lanes.ended(held(0, "slow.example"))

    assert tokens(lanes.take(3, NOW)) == [9]


def test_what_was_refused_waits_for_its_moment_or_for_one_that_ends():
    lanes = filled(held(1, "a.example"), held(2, "a.example"), held(3, "a.example"))
    first, second, third = lanes.take(10, NOW)
    for one in (second, third):
        lanes.give_back(one)
        lanes.refuse(one, NOW + LOOK_SECONDS)
    lanes.put(held(4, "a.example"))

    assert lanes.take(10, NOW) == []
    lanes.ended(first)
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
            lanes.ended(one)
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


def of(tenant: str, count: int, host: str = "{}.example", **parts: Any) -> list[Held]:
    """Return work of a tenant, each for another host unless one is given."""
    first = ord(tenant) * 1000
    return [
        held(first + n, host.format(f"{tenant}{n}"), tenant=tenant, **parts) for n in range(count)
    ]


def tenants(found: list[Held]) -> str:
    return "".join(one.tenant for one in found)


def test_tenants_take_turns_however_much_one_of_them_has():
    lanes = filled(*of("a", 100, due=NOW - 60, priority=0), *of("b", 3))

    assert tenants(lanes.take(CAPACITY, NOW)[:9]) == "abababaaa"


def test_tenants_start_in_proportion_to_their_weights():
    lanes = filled(*of("a", 100), *of("b", 100, weight=2), *of("c", 100, weight=4))

    assert Counter(tenants(lanes.take(CAPACITY, NOW)[:70])) == {"a": 10, "b": 20, "c": 40}


def test_a_tenant_has_one_share_however_many_destinations_it_calls():
    lanes = filled(*of("a", 100), *of("b", 40, "b.example"))

    assert Counter(tenants(lanes.take(100, NOW)[:40])) == {"a": 20, "b": 20}


def test_work_that_is_blocked_in_its_lane_counts_for_no_share():
    lanes = filled(*of("a", 20, "a.example"), *of("b", 60, due=NOW + 1))
    assert Counter(tenants(lanes.take(8, NOW))) == {"a": 3, "b": 3}

    for one in of("a", 60, due=NOW + 2):
        lanes.put(one)

    assert Counter(tenants(lanes.take(CAPACITY, NOW)[:40])) == {"a": 20, "b": 20}


def long_work_of(tenant: str, count: int, **parts: Any) -> Lanes:
    """Return lanes where another tenant has run, and this one has more work than slots."""
    lanes = filled(*of("q", 1))
    (quick,) = lanes.take(CAPACITY, NOW)
    lanes.ended(quick)
    for one in of(tenant, count, **parts):
        lanes.put(one)
    return lanes


def test_long_work_of_one_tenant_leaves_slots_to_others():
    lanes = long_work_of("a", 2 * CAPACITY)

    taken = lanes.take(CAPACITY, NOW)
    lanes.put(of("q", 2)[1])

    assert len(taken) == CAPACITY - CAPACITY // 16
    assert tenants(lanes.take(CAPACITY - len(taken), NOW)) == "q"


def test_what_is_left_out_for_others_starts_as_soon_as_more_slots_are_free():
    lanes = long_work_of("a", 2 * CAPACITY)
    taken = lanes.take(CAPACITY, NOW)
    left = CAPACITY - len(taken)
    assert lanes.take(left, NOW) == []

    for one in taken[:5]:
        lanes.ended(one)

    assert tenants(lanes.take(left + 5, NOW)) == "a" * 5


def test_a_tenant_that_is_alone_has_every_slot():
    lanes = filled(*of("a", 2 * CAPACITY))

    assert len(lanes.take(CAPACITY, NOW)) == CAPACITY


def until_full(lanes: Lanes, flying: Counter[str], now: float = NOW) -> Counter[str]:
    """Start work in as many passes as start any; return the slots that each tenant has then."""
    while found := lanes.take(CAPACITY - flying.total(), now):
        flying.update(tenants(found))
    return flying


def one_destination(tenant: str, count: int = 2 * CAPACITY, **parts: Any) -> list[Held]:
    return of(tenant, count, f"{tenant}.example", **parts)


def test_tenants_with_one_destination_each_start_in_proportion_to_their_weights():
    lanes = filled(
        *one_destination("a"), *one_destination("b", weight=2), *one_destination("c", weight=4)
    )

    taken = until_full(lanes, Counter())

    # The rest is kept for tenants that have fewer slots.
    assert taken.total() == CAPACITY - CAPACITY // 16
    assert taken["b"] == pytest.approx(2 * taken["a"], abs=2)
    assert taken["c"] == pytest.approx(4 * taken["a"], abs=4)


def beside_quick_calls(lanes: Lanes) -> int:
    """Return the slots that work which never ends takes beside another tenant's quick calls."""
    taken = 0
    for number in range(9):
        lanes.put(held(number, "quick.example", tenant="quick"))
        for one in lanes.take(CAPACITY - taken, NOW + number):
            if one.tenant == "quick":
                lanes.ended(one)
            else:
                taken += 1
    return taken


def test_a_destination_takes_no_more_than_its_tenants_share_of_all_slots():
    lanes = filled(*one_destination("a", weight=3))

    assert beside_quick_calls(lanes) == CAPACITY * 3 // 4


def test_destinations_that_hang_do_not_each_take_the_share_of_their_tenant():
    lanes = filled(*(held(n, f"{n % 2}.example", tenant="a") for n in range(2 * CAPACITY)))

    # Each as many as it leaves free. A share for each would leave only the slots that are kept.
    assert beside_quick_calls(lanes) == pytest.approx(CAPACITY * 2 / 3, abs=2)


def test_a_tenant_that_is_alone_with_waiting_work_is_limited_by_what_it_leaves_free():
    lanes = filled(*of("b", 9))
    slots = until_full(lanes, Counter())
    for one in one_destination("a", weight=4):
        lanes.put(one)

    assert until_full(lanes, slots, NOW + 1)["a"] == pytest.approx((CAPACITY - 9) / 2, abs=1)


def test_work_that_the_start_guard_refuses_counts_for_no_share():
    lanes = filled(*of("b", 1))
    (refused,) = lanes.take(CAPACITY, NOW)
    lanes.give_back(refused)
    lanes.refuse(refused, NOW + 60)
    for one in one_destination("a", weight=4):
        lanes.put(one)

    slots = until_full(lanes, Counter())
    assert slots == {"a": CAPACITY // 2}

    # From then on it waits for a slot, as any other.
    assert until_full(lanes, slots, NOW + 60)["a"] > CAPACITY // 2


def test_blocked_work_counts_for_a_share_and_comes_back_up_to_its_own():
    lanes = filled(*one_destination("a"))
    running = lanes.take(CAPACITY, NOW)
    slots = Counter(tenants(running))
    for one in one_destination("b"):
        lanes.put(one)
    kept = CAPACITY // 16
    assert until_full(lanes, slots, NOW + 1) == {"a": CAPACITY // 2, "b": CAPACITY // 2 - kept}

    for one in running[:150]:
        lanes.ended(one)
        slots["a"] -= 1

    assert until_full(lanes, slots, NOW + 2).total() == CAPACITY - kept
    assert slots["b"] <= CAPACITY // 2


def test_work_that_waits_for_a_process_counts_for_no_share():
    lanes = filled(*of("b", CAPACITY, "", target={"kind": "command"}))
    slots = until_full(lanes, Counter())
    for one in one_destination("a", weight=4):
        lanes.put(one)

    assert until_full(lanes, slots, NOW + 1) == {"b": CAPACITY // 2, "a": CAPACITY // 4}


def test_processes_keep_their_limit_while_another_tenant_has_waiting_work():
    lanes = filled(*of("a", CAPACITY, "", target={"kind": "command"}, weight=4))
    slots = until_full(lanes, Counter())
    for one in one_destination("b"):
        lanes.put(one)

    assert until_full(lanes, slots, NOW + 1)["a"] == CAPACITY // 2


def test_weights_are_read_when_a_lane_is_at_its_limit_and_seldom_then(
    monkeypatch: pytest.MonkeyPatch,
):
    read: list[float] = []
    weigh = Lanes._weigh

    def counted(self: Lanes, now: float) -> None:
        read.append(now)
        weigh(self, now)

    monkeypatch.setattr(Lanes, "_weigh", counted)
    filled(*of("a", 20), *of("b", 20)).take(30, NOW)
    assert read == []

    lanes = filled(*one_destination("a"), *one_destination("b"))
    for number in range(12):
        lanes.take(200, NOW + number / 50)

    assert len(read) == 4


@pytest.mark.parametrize("kind", ["command", "handler"])
def test_processes_of_one_tenant_take_as_many_slots_as_they_leave(kind: str):
    target = {"kind": kind}
    lanes = filled(*of("a", 1000, "", target=target), *of("b", 1, due=NOW + 1, target=target))

    taken = lanes.take(64, NOW)

    assert Counter(tenants(taken)) == {"a": 32, "b": 1}
    assert lanes.overdue(NOW + 3600) == []


def test_as_many_processes_start_as_can_run():
    lanes = filled(*of("a", 20, "", target={"kind": "command"}))

    assert len(lanes.take(10, NOW)) == conf().command_slots
    assert lanes.take(2, NOW) == []


def test_tenants_without_work_are_forgotten():
    lanes = Lanes()
    for number in range(500):
        lanes.put(held(number, tenant=str(number)))
        (taken,) = lanes.take(8, NOW)
        lanes.ended(taken)

    assert lanes._ready.known == 0
    assert lanes._shares._taken == {}


def test_everything_can_be_taken_back():
    lanes = filled(held(1), *(held(number, "a.example") for number in range(2, 6)))
    lanes.take(2, NOW)

    assert sorted(tokens(lanes.clear())) == [3, 4, 5]
    assert len(lanes) == 0


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from(["", "a", "b", "c", "command"])),
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
            process = host == "command"
            target = {"kind": host if process else "webhook"}
            one = held(number, "" if process else host, tenant=f"t{number % 3}", target=target)
            lanes.put(one)
            put += 1
        elif what == "take":
            flying += lanes.take(slots - len(flying), NOW + number)
        elif flying and what == "end":
            lanes.ended(flying.pop())
            done += 1
        elif flying and flying[-1].destination:
            refused = flying.pop()
            lanes.give_back(refused)
            lanes.refuse(refused, NOW + number + 3)
        assert len(flying) <= slots
        assert len(lanes) + len(flying) + done == put
    while len(lanes) or flying:
        steps.append(("", ""))
        flying += lanes.take(slots - len(flying), NOW + 1000 + len(steps))
        lanes.ended(flying.pop())


def test_two_copies_of_a_message_may_wait_beside_each_other():
    lanes = filled(held(1), held(1))

    assert tokens(lanes.take(2, NOW)) == [1, 1]
