"""One turn of a contender: started afresh, warmed up, given its plans, perhaps killed, stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.peers.contender import CouldNotRunError, Killable
from bench.peers.target import Arrival, Target, await_calls
from bench.peers.turn import now_ms, started, wait
from bench.workflows.peers.figures import Kill, Speed, counts_of, speed_of
from bench.workflows.peers.shapes import CHAIN, GRAPH, Runs

#: Longer than any starting program takes until it can start runs.
_LEAD_MS = 4000
_WARM_UP = 20
#: Duplicates may still come for this long.
_SETTLE_SECONDS = 1.0
#: Without a kill, this long without any call is the end of a plan.
_STALL_SECONDS = 30.0
#: A kill comes when this share of the steps has been executed, and has to leave as much behind.
_BEFORE, _BEHIND = 0.3, 0.1
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Load:
    """What every contender is asked for."""

    #: Chains that begin evenly over these seconds.
    chains: int
    seconds: float
    #: Graphs that are asked for at once.
    graphs: int
    #: Graphs in whose midst everything is killed; 0 for no kill.
    killed: int
    #: Behind a kill, this long without any call is the end of waiting.
    patience: float


def take(make: type[Killable], target: Target, load: Load) -> Iterator[Speed | Kill]:
    """Yield one turn's figures as they come; CouldNotRunError and its like where it ends early."""
    with started(make) as contender:
        _warm_up(contender, target)
        step_ms = 1000 * load.seconds / load.chains
        chains = Runs(target.url, load.chains, now_ms() + _LEAD_MS, step_ms, shape=CHAIN)
        made = _carry_out(contender, target, chains)
        graphs = _at_once(target, load.graphs)
        drawn = _carry_out(contender, target, graphs)
        yield speed_of(make.name, (chains, made), (graphs, drawn))
        if load.killed:
            yield _kill(contender, target, _at_once(target, load.killed), load.patience)


def _at_once(target: Target, count: int) -> Runs:
    return Runs(target.url, count, now_ms() + _LEAD_MS, shape=GRAPH)


def _warm_up(contender: Killable, target: Target) -> None:
    """Let it execute a few runs, so that code is loaded and connections are open."""
    runs = _at_once(target, _WARM_UP)
    counts = counts_of(runs, _carry_out(contender, target, runs))
    if counts.lost:
        raise CouldNotRunError(f"of {counts.steps} steps to warm up {counts.lost} are missing")


def _carry_out(contender: Killable, target: Target, runs: Runs) -> list[Arrival]:
    """Hand a plan over and return its calls when all have come, or none has for long."""
    target.reset()
    contender.schedule(runs)
    await_calls(target, runs.calls, stall_seconds=_STALL_SECONDS)
    wait(_SETTLE_SECONDS)
    return target.arrivals()


def _kill(contender: Killable, target: Target, runs: Runs, patience: float) -> Kill:
    """Kill everything in the midst of a plan that was handed over, start it again, and wait."""
    target.reset()
    contender.schedule(runs)
    deadline = time.monotonic() + _STALL_SECONDS
    while (before := target.count()) < _BEFORE * runs.calls and time.monotonic() < deadline:
        wait(_LOOK_SECONDS)
    struck_ns = time.time_ns()
    contender.kill()
    if not midst(before, runs):
        raise CouldNotRunError(f"the kill met no work: {before} of {runs.calls} steps were done")
    contender.restart()
    ready_ns = time.time_ns()
    await_calls(target, runs.calls, stall_seconds=patience)
    wait(_SETTLE_SECONDS)
    arrivals = target.arrivals()
    last_ns = max((moment for _, moment in arrivals), default=struck_ns)
    return Kill(
        contender.name,
        before,
        (ready_ns - struck_ns) / 1e9,
        max(0.0, (last_ns - struck_ns) / 1e9),
        counts_of(runs, arrivals),
    )


def midst(before: int, runs: Runs) -> bool:
    """Say whether enough was left to do when everything was killed."""
    return before <= (1 - _BEHIND) * runs.calls
