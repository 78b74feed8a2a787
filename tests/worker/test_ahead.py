from __future__ import annotations

import asyncio
from typing import Any

from worker.ahead import Ahead


def batch(*due: float) -> Any:
    return {"executions": [{"due": moment} for moment in due]}


async def turns_until(prepared: list[float], count: int) -> int:
    turns = 0
    while len(prepared) < count:
        await asyncio.sleep(0)
        turns += 1
    return turns


async def test_entries_are_prepared_in_their_order_a_few_at_a_time():
    prepared: list[float] = []
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: 0.0)

    ahead.take(batch(*range(1, 31)))

    assert prepared == []
    assert await turns_until(prepared, 30) >= 3
    assert prepared == list(range(1, 31))


async def test_batches_wait_for_each_other():
    prepared: list[float] = []
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: 0.0)

    ahead.take(batch(*range(1, 21)))
    ahead.take(batch(50.0, 40.0))
    await turns_until(prepared, 22)

    assert prepared == [*range(1, 21), 50.0, 40.0]


async def test_the_more_that_wait_the_more_are_prepared_in_a_turn():
    """Each turn takes from a start, and a burst must be ready at its time (B1)."""
    prepared: list[float] = []
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: 0.0)
    took: list[tuple[int, int]] = []

    ahead.take(batch(*range(1, 1701)))
    while len(prepared) < 1700:
        left, before = 1700 - len(prepared), len(prepared)
        await turns_until(prepared, before + 1)
        took.append((left, len(prepared) - before))

    assert {count for left, count in took if left >= 1200} == {4}
    assert {count for left, count in took if 800 <= left < 1200} == {3}
    assert {count for left, count in took if 400 <= left < 800} == {2}
    assert {count for left, count in took if left < 400} == {1}


async def test_what_is_due_is_left_to_its_attempt():
    prepared: list[float] = []
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: 10.0)

    ahead.take(batch(9.0, 10.0, 10.5))
    await turns_until(prepared, 1)

    assert prepared == [10.5]


async def test_what_has_come_due_meanwhile_is_left_to_its_attempt():
    prepared: list[float] = []
    clock = [10.0]
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: clock[0])

    ahead.take(batch(10.5, 12.0))
    clock[0] = 11.0
    await turns_until(prepared, 1)

    assert prepared == [12.0]


async def test_an_entry_that_fails_does_not_hold_up_those_of_the_next_turn():
    prepared: list[float] = []

    def prepare(entry: Any, of: Any) -> None:
        if entry["due"] == 1:
            raise KeyError("broken")
        prepared.append(entry["due"])

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    ahead = Ahead(prepare, lambda: 0.0)
    ahead.take(batch(*range(1, 21)))
    await turns_until(prepared, 19)

    assert prepared == list(range(2, 21))
