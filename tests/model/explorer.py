"""Explores the model breadth first: every state within the bounds, the shortest way to a fault.

What ends without a final state is lost. Without faults the graph must have no circle: then every
run ends, and the states without a next step are all the ends there are.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.model import protocol
from tests.model.faults import ended
from tests.model.joins import JoinSetup, first_join, join_ended, join_moves
from tests.model.state import Setup, first

#: A state and a move of either model: a state has ``broken``; a move ``state`` and ``is_fault``.
AnyState: TypeAlias = Any
AnyMove: TypeAlias = Any

LOST = "an execution is lost"
ENDLESS = "a run without faults does not end"


@dataclass(slots=True)
class Explored:
    """What was found; ``broken`` and ``trace`` are empty when nothing was."""

    states: int = 0
    moves: int = 0
    ends: int = 0
    broken: str = ""
    trace: list[AnyMove] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.broken:
            return f"{self.states} states, {self.moves} moves, {self.ends} ends: nothing broken"
        steps = [f"{number:3} {move}" for number, move in enumerate(self.trace, 1)]
        return "\n".join([f"{self.broken}, after {len(self.trace)} moves:", *steps])


def explore(setup: Setup, limit: int = 5_000_000) -> Explored:
    """Return what the core loop can come to; more states than the limit are an error."""
    return _without_collector(
        first(setup),
        lambda state: protocol.moves(state, setup),
        lambda state: ended(state, setup),
        limit,
    )


def explore_joins(setup: JoinSetup, limit: int = 5_000_000) -> Explored:
    """Return the same of a run of a workflow."""
    return _without_collector(
        first_join(setup), lambda state: join_moves(state, setup), join_ended, limit
    )


def _without_collector(*model: Any) -> Explored:
    gc.disable()  # millions of tuples without a circle: looking for one takes a third of the time
    try:
        return _explore(*model)
    finally:
        gc.enable()


def _explore(
    start: AnyState,
    moves: Callable[[AnyState], Iterable[AnyMove]],
    has_ended: Callable[[AnyState], bool],
    limit: int,
) -> Explored:
    came: dict[AnyState, tuple[AnyState, AnyMove] | None] = {start: None}
    waiting = deque([start])
    found = Explored()
    quiet: dict[AnyState, list[AnyState]] = {}
    while waiting:
        state = waiting.popleft()
        following = list(moves(state))
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
            if not has_ended(state):
                return _told(found, came, state, LOST)
        if len(came) > limit:
            raise MemoryError(f"more than {limit} states")
    found.states = len(came)
    circling = _circling(quiet)
    return _told(found, came, circling, ENDLESS) if circling else found


def _told(
    found: Explored,
    came: dict[AnyState, tuple[AnyState, AnyMove] | None],
    state: AnyState,
    broken: str,
) -> Explored:
    found.states, found.broken = len(came), broken
    step = came[state]
    while step:
        found.trace.insert(0, step[1])
        step = came[step[0]]
    return found


def _circling(quiet: dict[AnyState, list[AnyState]]) -> AnyState | None:
    """Return a state that lies on, or leads to, a circle of moves without faults."""
    left = {state: len(following) for state, following in quiet.items()}
    before: dict[AnyState, list[AnyState]] = {}
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
