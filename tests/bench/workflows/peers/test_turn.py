from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.peers.contender import CouldNotRunError, Killable
from bench.peers.plan import Plan
from bench.peers.target import Arrival
from bench.workflows.peers import turn as turns
from bench.workflows.peers.figures import Kill, Speed
from bench.workflows.peers.shapes import Runs, shape_of
from bench.workflows.peers.turn import Load, midst, take

MS = 1_000_000
LOAD = Load(chains=4, seconds=2.0, graphs=5, killed=0, patience=1.0)


class Stand:
    """A receiver that is called without a network, and what was asked of the contender."""

    url = "http://127.0.0.1:1"
    pid = 1

    def __init__(self) -> None:
        self.found: list[Arrival] = []
        self.plans: list[Runs] = []
        self.asked: list[str] = []
        #: Calls of a plan that come before everything is killed, and those that never come.
        self.before_kill = 0.5
        self.lost = 0
        self._left: list[Arrival] = []

    def reset(self) -> None:
        self.found = []

    def count(self) -> int:
        return len({number for number, _ in self.found})

    def arrivals(self) -> list[Arrival]:
        return self.found

    def carry_out(self, runs: Runs) -> None:
        calls = [(number, (runs.at_ms + number) * MS) for number in range(runs.calls)]
        calls = calls[: len(calls) - self.lost]
        cut = int(len(calls) * self.before_kill) if runs.count == 6 else len(calls)
        self.found, self._left = calls[:cut], calls[cut:]

    def go_on(self) -> None:
        self.found = [*self.found, *self._left]


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    monkeypatch.setattr(turns, "wait", lambda seconds: None)
    monkeypatch.setattr(turns, "await_calls", lambda target, count, stall_seconds: target.count())
    return Stand()


def contender(stand: Stand) -> type[Killable]:
    class Fake(Killable):
        name = "fake"

        def start(self, scratch: Path) -> None:
            stand.asked.append("start")

        def schedule(self, plan: Plan) -> None:
            assert isinstance(plan, Runs)
            stand.asked.append(shape_of(plan))
            stand.plans.append(plan)
            stand.carry_out(plan)

        def kill(self) -> None:
            stand.asked.append("kill")

        def restart(self) -> None:
            stand.asked.append("restart")
            stand.go_on()

        def stop(self) -> None:
            stand.asked.append("stop")

        def kinds(self) -> dict[int, str]:
            return {}

        def versions(self) -> dict[str, str]:
            return {}

    return Fake


Take = Callable[[Load], Iterator[Speed | Kill]]


@pytest.fixture
def take_turn(stand: Stand) -> Take:
    return lambda load: take(contender(stand), stand, load)  # type: ignore[arg-type]  # looks alike


def test_a_turn_is_warmed_up_and_has_chains_that_begin_evenly(stand: Stand, take_turn: Take):
    [speed] = take_turn(LOAD)

    assert isinstance(speed, Speed)
    assert stand.asked == ["start", "graph", "chain", "graph", "stop"]
    chains, graphs = stand.plans[1:]
    assert (chains.count, chains.step_ms) == (4, 500.0)
    assert (graphs.count, graphs.step_ms) == (5, 0.0)
    assert speed.chains.flawless
    assert speed.graphs.flawless


def test_a_kill_comes_in_the_midst_and_what_comes_behind_it_counts(stand: Stand, take_turn: Take):
    [_, kill] = take_turn(Load(4, 2.0, 5, killed=6, patience=1.0))

    assert isinstance(kill, Kill)
    assert stand.asked[-4:] == ["graph", "kill", "restart", "stop"]
    assert kill.before == 30
    assert kill.counts.flawless


def test_a_kill_behind_the_last_steps_proves_nothing(stand: Stand, take_turn: Take):
    stand.before_kill = 1.0
    parts = take_turn(Load(4, 2.0, 5, killed=6, patience=1.0))

    assert isinstance(next(parts), Speed)
    with pytest.raises(CouldNotRunError, match="met no work"):
        next(parts)
    assert stand.asked[-1] == "stop"


def test_a_contender_that_loses_steps_when_it_warms_up_does_not_run(stand: Stand, take_turn: Take):
    stand.lost = 3

    with pytest.raises(CouldNotRunError, match="3 are missing"):
        next(take_turn(LOAD))


def test_enough_has_to_be_left_at_a_kill():
    runs = Runs("", 10, 1000)

    assert midst(90, runs)
    assert not midst(91, runs)
