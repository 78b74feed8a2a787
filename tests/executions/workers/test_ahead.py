from __future__ import annotations

import asyncio
from typing import Any

from executions.workers.ahead import Ahead


def batch(*due: float) -> dict[str, Any]:
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


async def test_what_is_due_is_left_to_its_attempt():
    prepared: list[float] = []
    ahead = Ahead(lambda entry, of: prepared.append(entry["due"]), lambda: 10.0)

    ahead.take(batch(9.0, 10.0, 10.5))
    await turns_until(prepared, 1)

    assert prepared == [10.5]


async def test_an_entry_that_fails_does_not_hold_up_those_of_the_next_turn():
    prepared: list[float] = []

    def prepare(entry: dict[str, Any], of: dict[str, Any]) -> None:
        if entry["due"] == 1:
            raise KeyError("broken")
        prepared.append(entry["due"])

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    ahead = Ahead(prepare, lambda: 0.0)
    ahead.take(batch(*range(1, 21)))
    await turns_until(prepared, 16)

    assert prepared == list(range(5, 21))
