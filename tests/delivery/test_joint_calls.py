from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from delivery.joint_calls import JointCalls


class Asked:
    """Calls that end when the test says so."""

    def __init__(self, slots: int = 8) -> None:
        self.calls: JointCalls[str, str] = JointCalls(slots)
        self.begun: list[str] = []
        self.release = asyncio.Event()
        self.error: Exception | None = None

    def caller(self, key: str) -> asyncio.Task[str]:
        return asyncio.ensure_future(self.calls.answer(key, key[0], self._call(key)))

    def _call(self, key: str) -> Callable[[], Awaitable[str]]:
        async def call() -> str:
            self.begun.append(key)
            await self.release.wait()
            if self.error:
                raise self.error
            return key.upper()

        return call


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_need_the_same_answer_share_one_call():
    asked = Asked()
    callers = [asked.caller("a1") for _ in range(3)]
    await turns()
    asked.release.set()

    assert await asyncio.gather(*callers) == ["A1"] * 3
    assert asked.begun == ["a1"]
    assert len(asked.calls) == 0


async def test_the_next_call_is_made_anew():
    asked = Asked()
    asked.release.set()

    assert [await asked.caller("a1"), await asked.caller("a1")] == ["A1"] * 2
    assert asked.begun == ["a1", "a1"]


async def test_a_failure_is_that_of_all_who_wait_for_it():
    asked = Asked()
    asked.error = OSError("no")
    asked.release.set()

    failed = await asyncio.gather(asked.caller("a"), asked.caller("a"), return_exceptions=True)

    assert [type(one) for one in failed] == [OSError, OSError]


async def test_a_caller_that_leaves_does_not_end_a_call_that_has_begun():
    asked = Asked()
    first, second = asked.caller("a1"), asked.caller("a1")
    await turns()

    first.cancel()
    await turns()
    asked.release.set()

    assert await second == "A1"


async def test_a_call_that_has_begun_outlives_its_callers():
    asked = Asked()
    first = asked.caller("a1")
    await turns()
    first.cancel()
    await turns()

    second = asked.caller("a1")
    await turns()
    asked.release.set()

    assert await second == "A1"
    assert asked.begun == ["a1"]


async def test_calls_of_a_tenant_that_hang_leave_slots_to_others():
    asked = Asked()
    for number in range(20):
        asked.caller(f"a{number}")
    await turns()
    assert asked.begun == ["a0", "a1", "a2", "a3"]

    asked.caller("b1")
    await turns()

    assert asked.begun[-1] == "b1"
    asked.calls.close()
    await turns()


async def test_a_call_that_waits_is_dropped_with_its_last_caller():
    asked = Asked(2)
    waiting = [asked.caller(key) for key in ("a0", "a1", "a2", "a2")]
    await turns()
    waiting[1].cancel()
    waiting[2].cancel()
    await turns()
    assert len(asked.calls) == 2

    waiting[3].cancel()
    again = asked.caller("a2")
    await turns()
    asked.release.set()

    assert await again == "A2"
    assert asked.begun == ["a0", "a2"]


async def test_as_many_calls_wait_as_there_are_callers():
    asked = Asked(2)
    asked.caller("a")
    for number in range(200):
        asked.caller(f"a{number}").cancel()
    await turns()

    assert len(asked.calls) == 1
    assert asked.calls._slots.waiting < 16
    asked.calls.close()
    await turns()


async def test_closing_ends_calls_and_callers():
    asked = Asked(2)
    callers = [asked.caller("a1"), asked.caller("a2")]
    await turns()

    asked.calls.close()

    for caller in callers:
        with pytest.raises(asyncio.CancelledError):
            await caller


async def test_a_failure_after_all_have_left_is_quiet():
    asked = Asked()
    caller = asked.caller("a1")
    await turns()
    asked.error = OSError("no")
    caller.cancel()
    await turns()
    asked.release.set()
    await turns()

    assert len(asked.calls) == 0
