from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bench.peers.plan import body
from bench.workflows.peers.shapes import CHAIN, GRAPH, Runs
from bench.workflows.peers.workers import dbos_peer
from bench.workflows.peers.workers.dbos_peer import WORKFLOW, define


class Dbos:
    """The two decorators that are used."""

    def __init__(self) -> None:
        self.workflows: dict[str, Callable[[str, int], Any]] = {}

    def step(self, **_: object) -> Callable[[Any], Any]:
        return lambda function: function

    def workflow(self, *, name: str) -> Callable[[Any], Any]:
        def keep(function: Any) -> Any:
            self.workflows[name] = function
            return function

        return keep


class Steps:
    """Calls that are noted; each lets the others go on before it ends."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def call(self, url: str, text: str) -> None:
        digit = url.rpartition("/")[2]
        assert text == body(int(digit))
        self.log.append(f"begin {digit}")
        await asyncio.sleep(0)
        self.log.append(f"end {digit}")


def log_of(monkeypatch: pytest.MonkeyPatch, shape: str) -> list[str]:
    steps, dbos = Steps(), Dbos()
    monkeypatch.setattr(dbos_peer, "Steps", lambda: steps)
    define(dbos)
    runs = Runs("http://127.0.0.1:1", 3, 1000, shape=shape)
    asyncio.run(dbos.workflows[WORKFLOW](runs.as_line(), 2))
    return steps.log


def test_a_step_of_a_chain_begins_when_the_one_before_has_ended(monkeypatch: pytest.MonkeyPatch):
    assert log_of(monkeypatch, CHAIN) == [
        f"{what} {number}" for number in range(20, 30) for what in ("begin", "end")
    ]


def test_the_steps_of_a_fan_run_beside_each_other(monkeypatch: pytest.MonkeyPatch):
    log = log_of(monkeypatch, GRAPH)

    assert log[2:8] == [f"{what} {number}" for what in ("begin", "end") for number in (21, 22, 23)]
    assert log[8:10] == ["begin 24", "end 24"]
    assert len(log) == 20
