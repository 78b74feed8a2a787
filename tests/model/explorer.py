"""Explores the model breadth first: every state within the bounds, the shortest way to a fault.

What ends without a final state is lost. Without faults the graph must have no circle: then every
run ends, and the states without a next step are all the ends there are.
"""

from __future__ import annotations

import gc
from collections import deque
from dataclasses import dataclass, field

from tests.model import protocol
from tests.model.faults import ended
from tests.model.state import Move, Setup, State, first

LOST = "an execution is lost"
ENDLESS = "a run without faults does not end"


@dataclass(slots=True)
class Explored:
    """What was found; ``broken`` and ``trace`` are empty when nothing was."""

    states: int = 0
    moves: int = 0
    ends: int = 0
    broken: str = ""
    trace: list[Move] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.broken:
            return f"{self.states} states, {self.moves} moves, {self.ends} ends: nothing broken"
        steps = [f"{number:3} {move}" for number, move in enumerate(self.trace, 1)]
        return "\n".join([f"{self.broken}, after {len(self.trace)} moves:", *steps])


def explore(setup: Setup, limit: int = 5_000_000) -> Explored:
    """Return what the model can come to; more states than the limit are an error."""
    gc.disable()  # millions of tuples without a circle: looking for one takes a third of the time
    try:
        return _explore(setup, limit)
    finally:
        gc.enable()


def _explore(setup: Setup, limit: int) -> Explored:
    start = first(setup)
    came: dict[State, tuple[State, Move] | None] = {start: None}
    waiting = deque([start])
    found = Explored()
    quiet: dict[State, list[State]] = {}
    while waiting:
        state = waiting.popleft()
        following = list(protocol.moves(state, setup))
        found.moves += len(following)
        quiet[state] = [move.state for move in following if not move.is_fault]
        for move in following:
            if move.state not in came:
                came[move.state] = (state, move)
                waiting.append(move.state)
                if move.state.broken:
                    return _told(found, came, move.state, move.state.broken)
        if not quiet[state]:
            found.ends += 1
            if not ended(state, setup):
                return _told(found, came, state, LOST)
        if len(came) > limit:
            raise MemoryError(f"more than {limit} states")
    found.states = len(came)
    circling = _circling(quiet)
    return _told(found, came, circling, ENDLESS) if circling else found


def _told(
    found: Explored,
    came: dict[State, tuple[State, Move] | None],
    state: State,
    broken: str,
) -> Explored:
    found.states, found.broken = len(came), broken
    step = came[state]
    while step:
        found.trace.insert(0, step[1])
        step = came[step[0]]
    return found


def _circling(quiet: dict[State, list[State]]) -> State | None:
    """Return a state that lies on, or leads to, a circle of moves without faults."""
    left = {state: len(following) for state, following in quiet.items()}
    before: dict[State, list[State]] = {}
    for state, following in quiet.items():
        for after in following:
            before.setdefault(after, []).append(state)
    done = deque(state for state, count in left.items() if not count)
    while done:
        state = done.popleft()
        del left[state]
        for earlier in before.get(state, ()):
            left[earlier] -= 1
            if not left[earlier]:
                done.append(earlier)
    return next(iter(left), None)
