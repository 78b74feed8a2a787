from __future__ import annotations

import asyncio

import pytest

from shared import cancelling


async def _ignoring(times: int, heard: asyncio.Event) -> None:
    """Ignore the given number of cancellations, as a task in ``asyncio.wait_for`` may."""
    for _ in range(times):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.set()
    await asyncio.Event().wait()


async def _failing() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise OSError("lost while it was closed")


async def _saying() -> str:
    return "said"


async def test_a_task_that_drops_its_cancellation_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "_AGAIN_SECONDS", 0.01)
    heard = asyncio.Event()
    stubborn = asyncio.create_task(_ignoring(2, heard))
    willing = asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)

    async with asyncio.timeout(20):
        await cancelling.end(stubborn, willing)

    assert heard.is_set()
    assert stubborn.cancelled()
    assert willing.cancelled()


async def test_what_a_task_raises_at_its_end_is_not_raised_here() -> None:
    failing = asyncio.create_task(_failing())
    await asyncio.sleep(0)

    await cancelling.end(failing)

    assert isinstance(failing.exception(), OSError)


async def test_what_has_ended_is_left_alone() -> None:
    done = asyncio.create_task(_saying())
    await done

    await cancelling.end(done)
    await cancelling.end()

    assert done.result() == "said"
