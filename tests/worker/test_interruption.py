from __future__ import annotations

import asyncio
from typing import Any

from worker.interruption import Limits, Stopping, Why, first_of, run_to_end

PATIENT = Limits(seconds=60.0, grace_seconds=60.0)


class Run:
    """A run that ends when it is told to, by whom it hears."""

    def __init__(self, *, hears_asking: bool = True) -> None:
        self.done = asyncio.Event()
        self.task = asyncio.ensure_future(self.done.wait())
        self.asked = self.killed = 0
        self._hears = hears_asking

    def ask(self) -> None:
        self.asked += 1
        if self._hears:
            self.done.set()

    def kill(self) -> None:
        self.killed += 1
        self.done.set()

    def watched(self, limits: Limits, stopping: Stopping | None = None) -> asyncio.Task[Any]:
        return asyncio.ensure_future(
            run_to_end(self.task, limits, stopping or Stopping(), ask=self.ask, kill=self.kill)
        )


async def test_a_run_that_ends_itself_is_left_alone():
    run = Run()
    watched = run.watched(PATIENT)
    run.done.set()

    assert await watched is None
    assert (run.asked, run.killed) == (0, 0)


async def test_when_time_is_up_it_is_asked_and_not_killed():
    run = Run()

    assert await run.watched(Limits(0.01, 60.0)) is Why.TIME_IS_UP
    assert (run.asked, run.killed, run.task.done()) == (1, 0, True)


async def test_who_does_not_hear_is_killed_after_the_grace():
    run = Run(hears_asking=False)

    assert await run.watched(Limits(0.01, 0.01)) is Why.TIME_IS_UP
    assert (run.asked, run.killed, run.task.done()) == (1, 1, True)


async def test_a_cancel_is_told_not_raised_and_a_second_one_does_not_hurry():
    run = Run(hears_asking=False)
    watched = run.watched(PATIENT)
    await asyncio.sleep(0)

    watched.cancel()
    await asyncio.sleep(0)
    watched.cancel()
    await asyncio.sleep(0)
    assert not watched.done()
    run.done.set()

    assert await watched is Why.CANCELLED
    assert run.killed == 0


async def test_a_stopping_worker_shortens_the_grace():
    run, stopping = Run(hears_asking=False), Stopping()
    watched = run.watched(PATIENT, stopping)

    stopping.say(0.01)

    assert await watched is Why.STOPPING
    assert run.killed == 1
    assert stopping.said


async def test_the_first_of_several_reasons_counts():
    stopping = Stopping()
    stopping.say(1.0)
    never = asyncio.ensure_future(asyncio.Event().wait())

    assert await first_of(never, 60.0, stopping) is Why.STOPPING
    assert await first_of(never, 0.0, Stopping()) is Why.TIME_IS_UP
    never.cancel()
