"""The ledger of the model: the guarded statements of ``executions/sql`` that end or start work."""

from __future__ import annotations

from tests.model import planted
from tests.model.state import (
    CANCELLED,
    FAILED,
    FINAL,
    PENDING,
    QUEUED,
    RETRYING,
    RUNNING,
    SUCCEEDED,
    Setup,
    State,
)

OPEN = (QUEUED, RUNNING)


def start(state: State, token: int) -> State:
    """QUEUED to RUNNING under the token."""
    row = state.row_of(token)
    if row.token != token or row.status != QUEUED:
        return state
    running = row._replace(status=RUNNING, attempt=row.attempt + 1, late=False)
    return state.with_row(state.execution_of(token), running)


def hand_back(state: State, token: int) -> State:
    """QUEUED to PENDING under the token: withdrawn or released, no attempt used."""
    row = state.row_of(token)
    if row.token != token or row.status != QUEUED:
        return state
    waiting = row._replace(status=PENDING, late=False)
    state = state.with_row(state.execution_of(token), waiting)
    return state._replace(withdrawn=state.withdrawn | {token})


def finish(state: State, setup: Setup, token: int, verb: str) -> State:
    """QUEUED or RUNNING to what came of the attempt, under the token, with the attempt.

    ``verb`` is the worker's ``succeeded`` or ``unsuccessful``, or the rescuer's ``lost``.
    """
    row = state.row_of(token)
    checked = row.token == token or setup.planted == planted.TOKEN_UNCHECKED
    if not checked or row.status not in OPEN:
        return state
    attempt = row.attempt + (row.status == QUEUED)
    status = SUCCEEDED if verb == "succeeded" else _another_try(row.cancelling, attempt, setup)
    ended = row._replace(status=status, attempt=attempt, late=False)
    state = _recorded(state.with_row(state.execution_of(token), ended), token)
    if verb == "unsuccessful":
        state = state._replace(retried=state.retried | {token})
    return state


def cancel(state: State, execution: int) -> State:
    """PENDING, RETRYING or voided QUEUED to CANCELLED."""
    row = state.rows[execution]
    broken = "two final states" if row.status in FINAL else state.broken
    state = state.with_row(execution, row._replace(status=CANCELLED, late=False))
    if row.status == QUEUED:
        state = state._replace(withdrawn=state.withdrawn | {row.token})
    return state._replace(broken=broken)


def _another_try(cancelling: bool, attempt: int, setup: Setup) -> str:
    if cancelling:
        return CANCELLED
    return RETRYING if attempt < setup.max_attempts else FAILED


def _recorded(state: State, token: int) -> State:
    broken = "an attempt recorded twice" if token in state.recorded else state.broken
    return state._replace(recorded=state.recorded | {token}, broken=broken)
