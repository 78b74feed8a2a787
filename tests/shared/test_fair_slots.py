"""Slots for which callers wait: shared by tenants, none lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.fair_slots import Caller, FairSlots


async def turns() -> None:
    """Let all that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


class Room:
    """Slots, and callers that hold one until they are let go."""

    def __init__(self, slots: int, *, divided: bool = False) -> None:
        self.slots = FairSlots(slots, divided=divided, clock=lambda: 0.0)
        self.order: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        self.callers: dict[str, asyncio.Task[None]] = {}

    async def come(self, names: Iterable[str], **parts: Any) -> None:
        """Let callers come; the letter of each names its tenant."""
        for name in names:
            caller = Caller(name[0], **parts)
            self.callers[name] = asyncio.ensure_future(self._hold(name, caller))
        await turns()

    async def _hold(self, name: str, caller: Caller) -> None:
        async with self.slots.slot(caller):
            self.order.append(name)
            self.held[name] = asyncio.Event()
            try:
                await self.held[name].wait()
            finally:
                del self.held[name]

    async def go(self, *names: str) -> None:
        for name in names:
            self.held[name].set()
        await turns()

    async def leave(self, *names: str) -> None:
        for name in names:
            self.callers[name].cancel()
        await turns()

    async def close(self) -> None:
        for caller in self.callers.values():
            caller.cancel()
        for caller in self.callers.values():
            with suppress(asyncio.CancelledError):
                await caller


async def test_free_slots_are_given_out_at_once():
    room = Room(2)
    await room.come(["a1", "a2", "a3"])

    assert room.order == ["a1", "a2"]
    await room.go("a1")
    assert room.order == ["a1", "a2", "a3"]
    await room.close()


async def test_tenants_take_turns_however_many_of_one_wait():
    room = Room(1)
    await room.come(["a0", *(f"a{n}" for n in range(1, 6)), "b1", "b2"])
    for _ in range(7):
        await room.go(room.order[-1])

    assert room.order == ["a0", "a1", "b1", "a2", "b2", "a3", "a4", "a5"]
    await room.close()


async def test_turns_are_in_proportion_to_weights():
    room = Room(1)
    await room.come(["z"])
    await room.come([f"a{n}" for n in range(4)])
    await room.come([f"b{n}" for n in range(8)], weight=3.0)
    for _ in range(8):
        await room.go(room.order[-1])

    assert sorted(name[0] for name in room.order[1:9]) == ["a"] * 2 + ["b"] * 6
    await room.close()


async def test_a_tenants_urgent_callers_go_first_then_the_ones_due_before():
    room = Room(1)
    await room.come(["a0"])
    await room.come(["a1"], priority=9)
    await room.come(["a2"], priority=5, due=2.0)
    await room.come(["a3"], priority=5, due=1.0)
    for _ in range(3):
        await room.go(room.order[-1])

    assert room.order == ["a0", "a3", "a2", "a1"]
    await room.close()


async def test_long_work_of_one_tenant_leaves_a_slot_to_others():
    room = Room(8)
    await room.come(["b1"])
    await room.go("b1")

    await room.come([f"a{n}" for n in range(20)])
    assert len(room.held) == 7
    await room.come(["b2"])

    assert "b2" in room.held
    await room.close()


async def test_divided_slots_are_never_all_of_one_tenant():
    room = Room(8, divided=True)

    await room.come([f"{tenant}{n}" for tenant in "abcd" for n in range(9)])

    assert [sum(name[0] == one for name in room.held) for one in "abcd"] == [4, 2, 1, 1]
    await room.close()


async def test_a_caller_that_leaves_while_it_waits_takes_no_slot():
    room = Room(1)
    await room.come(["a1", "a2", "a3"])

    await room.leave("a2")
    await room.go("a1")

    assert room.order == ["a1", "a3"]
    await room.close()


async def test_a_caller_that_leaves_as_its_turn_comes_hands_the_slot_on():
    room = Room(1)
    await room.come(["a1", "a2", "a3"])

    room.held["a1"].set()
    await asyncio.sleep(0)  # a2 has its turn and has not gone on yet
    await room.leave("a2")

    assert room.order[-1] == "a3"
    await room.close()


async def test_callers_that_have_left_are_not_kept():
    room = Room(1)
    await room.come(["b0"])
    await room.come([f"a{n}" for n in range(1000)])

    await room.leave(*(f"a{n}" for n in range(1000)))

    assert room.slots.waiting < 16
    await room.go("b0")
    await room.come(["b1"])
    assert room.order == ["b0", "b1"]
    await room.close()


_STEPS = st.lists(
    st.tuples(st.sampled_from(["come", "come", "go", "leave"]), st.sampled_from("abc")),
    max_size=60,
)


@given(_STEPS, st.booleans())
def test_no_slot_is_lost_or_given_out_twice(steps: list[tuple[str, str]], divided: bool):
    async def follow() -> None:
        room, slots = Room(4, divided=divided), 4
        for number, (what, tenant) in enumerate(steps):
            if what == "come":
                await room.come([f"{tenant}{number}"])
            elif what == "go" and room.held:
                await room.go(next(iter(room.held)))
            elif waiting := [one for one in room.callers if one not in room.held]:
                await room.leave(waiting[number % len(waiting)])
            assert len(room.held) <= slots
        await room.close()
        await room.come([f"{tenant}-last" for tenant in "wxyz"])
        assert len(room.held) == slots
        await room.close()
        assert room.slots.waiting == 0

    asyncio.run(follow())
