"""A runner on a clock of the test, and what it talks to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pytest_django import Settings

from shared.conf import conf
from wire import start_guard
from worker.entries import Flying, Held, Question
from worker.runner import Runner, Verdict


class Clock:
    """Redis' time as the test says it."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time


class Outbox:
    """Outcomes, and a way to wait for a number of them."""

    def __init__(self) -> None:
        self.outcomes: list[Any] = []
        self.prompt: list[bool] = []
        self._came = asyncio.Event()

    def put(self, outcome: Any, *, prompt: bool = False) -> None:
        self.outcomes.append(outcome)
        self.prompt.append(prompt)
        self._came.set()

    async def until(self, count: int) -> list[Any]:
        async with asyncio.timeout(60):
            while len(self.outcomes) < count:
                self._came.clear()
                await self._came.wait()
        return self.outcomes


class Reports:
    """What the runner says about destinations."""

    def __init__(self) -> None:
        self.flights: list[tuple[Flying, Any]] = []
        self.late: list[Held] = []

    def ended(self, flight: Flying, outcome: Any) -> None:
        self.flights.append((flight, outcome))

    def waited(self, held: Held) -> None:
        self.late.append(held)


class Bench:
    """A runner with fakes around it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.outbox = Outbox()
        self.asked: list[list[Question]] = []
        self.verdict: Callable[[Question], Verdict] = lambda question: start_guard.GO
        self.reports = Reports()
        self.guard_error: Exception | None = None
        self.refused = asyncio.Event()
        self.delivered: list[tuple[str, float]] = []
        self.started = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.runner = Runner(
            "w1",
            self.clock,  # type: ignore[arg-type]  # a fake
            self.outbox,  # type: ignore[arg-type]  # a fake
            self.deliver,
            self.ask,
            self.reports,
        )

    async def ask(self, incarnation: str, asked: Sequence[Question]) -> list[Verdict]:
        if self.guard_error:
            self.refused.set()
            raise self.guard_error
        self.asked.append(list(asked))
        return [self.verdict(question) for question in asked]

    async def deliver(self, entry: Any, batch: Any, started: float) -> Any:
        self.delivered.append((entry["id"], started))
        self.started.set()
        await self.gate.wait()
        if entry["id"] == "broken":
            raise RuntimeError("planted")
        return {"verb": "succeeded", "outcome": "SUCCEEDED"}

    async def until_delivered(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.delivered) < count:
                self.started.clear()
                await self.started.wait()

    def take(self, *entries: Any) -> None:
        self.runner.accept(message("r:1", *entries), 100)


def message(incarnation: str, *entries: Any) -> Any:
    return {"incarnation": incarnation, "executions": list(entries)}


def entry(
    name: str, token: int, *, due: float = 1000.0, priority: int = 5, revision: int = 1
) -> Any:
    return {
        "id": name,
        "task": "t",
        "revision": revision,
        "token": token,
        "due": due,
        "priority": priority,
        "start_by": int((due + 10) * 1000),
        "attempt": 1,
        "max_attempts": 2,
    }


def use(settings: Settings, **knobs: Any) -> None:
    settings.PUNCTUAL = replace(conf(), **knobs)
