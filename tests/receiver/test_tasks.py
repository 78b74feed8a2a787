from __future__ import annotations

import asyncio

from receiver.tasks import TasksBySegment


async def test_work_is_counted_for_its_tenant_until_it_ends():
    tasks, goes_on = TasksBySegment(), asyncio.Event()

    async def work() -> None:
        await goes_on.wait()

    tasks.begin("a", work())
    tasks.begin("a", work())
    tasks.begin("b", work())

    assert (tasks.count("a"), tasks.count("b"), tasks.count("c")) == (2, 1, 0)
    goes_on.set()
    await asyncio.wait_for(tasks.settle(), 20)
    assert (tasks.count("a"), tasks.count("b")) == (0, 0)


async def test_everything_is_ended_at_the_stop():
    tasks = TasksBySegment()

    begun = tasks.begin("a", asyncio.Event().wait())  # type: ignore[arg-type]  # it never returns
    await asyncio.wait_for(tasks.cancel(), 20)

    assert begun.cancelled()
    assert tasks.count("a") == 0
