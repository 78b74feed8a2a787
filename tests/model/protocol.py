"""The core loop as an executable model: every step that any actor may take in a state.

The verbs are those of the code: materialize, claim, publish, start, report, commit, acknowledge,
void, withdraw, rescue. Explored by ``explorer``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import faults, recorders, schedulers, workers
from tests.model.sameness import canonical
from tests.model.state import Move, Setup, State

_ACTORS = (schedulers.moves, workers.moves, recorders.moves, faults.changes, faults.moves)


def moves(state: State, setup: Setup) -> Iterator[Move]:
    """Yield every step from a state; nothing follows a broken invariant."""
    if state.broken:
        return
    for actor in _ACTORS:
        for move in actor(state, setup):
            yield move if setup.named else move._replace(state=canonical(move.state))
