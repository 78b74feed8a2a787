"""The start guard of the model: ``lua/start.lua`` and ``lua/void.lua``, each one atomic step."""

from __future__ import annotations

from tests.model import planted
from tests.model.state import Mark, Setup, State

GO, VOID, STALE = "go", "void", "stale"
STARTED, VOIDED = "started", "voided"


def start(state: State, setup: Setup, token: int, incarnation: int) -> tuple[str, State]:
    """Answer whether a token may start; what goes is marked."""
    if state.incarnation != incarnation and setup.planted != planted.INCARNATION_IGNORED:
        return STALE, state
    if state.mark_of(token):
        return VOID, state
    return GO, _marked(begin(state, token), token, STARTED)


def void(state: State, setup: Setup, token: int) -> tuple[bool, State]:
    """Take a token back; answer whether it has started."""
    if state.mark_of(token) == STARTED and setup.planted != planted.STARTED_IGNORED:
        return True, state
    return False, _marked(state, token, VOIDED)


def begin(state: State, token: int) -> State:
    """Note that a token has begun, by its mark or, where that is missing, by its request."""
    if token in state.begun:
        return state
    broken = "a start after its withdrawal" if token in state.withdrawn else state.broken
    return state._replace(begun=state.begun | {token}, broken=broken)


def _marked(state: State, token: int, what: str) -> State:
    others = [mark for mark in state.marks if mark.token != token]
    return state._replace(marks=tuple(sorted([*others, Mark(token, what)])))
