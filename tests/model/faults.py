"""What befalls the model, and what people do to it: crashes, pauses, flushes; edits and cancels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.model import guard, ledger
from tests.model.state import (
    FINAL,
    QUEUED,
    RUNNING,
    Caller,
    Move,
    Recorder,
    Row,
    Scheduler,
    Setup,
    State,
    Worker,
    put,
)

KINDS = ("schedulers", "workers", "recorders")


def moves(state: State, setup: Setup) -> Iterator[Move]:
    """Yield the faults that may still happen, and the end of pauses, which is none."""
    yield from _resumes(state)
    if not state.faults:
        return
    for move in _faults(state):
        yield move._replace(state=move.state._replace(faults=state.faults - 1), is_fault=True)


def changes(state: State, setup: Setup) -> Iterator[Move]:
    """Yield what somebody who edits or cancels may do next."""
    caller = state.caller
    if caller.verb:
        yield _answer(state, caller)
    elif state.changes:
        fewer = state._replace(changes=state.changes - 1)
        for execution, row in enumerate(state.rows):
            if row.status not in FINAL and not row.locked:
                yield from _begin(fewer, setup, execution, row)


def _resumes(state: State) -> Iterator[Move]:
    for kind in KINDS:
        for place, one in enumerate(getattr(state, kind)):
            if one.paused:
                resumed = _with(state, kind, place, one._replace(paused=False))
                yield Move(f"{kind[:-1]} {place + 1}", "resume", 0, resumed)


def _faults(state: State) -> Iterator[Move]:
    for kind, empty in zip(KINDS, (Scheduler(), Worker(), Recorder()), strict=True):
        for place, one in enumerate(getattr(state, kind)):
            if one == empty or one.paused:
                continue
            actor = f"{kind[:-1]} {place + 1}"
            excused = state
            if isinstance(one, Worker):
                excused = _excuse(state, {job.token for job in one.jobs})
            yield Move(actor, "crash", 0, _with(excused, kind, place, empty))
            yield Move(actor, "pause", 0, _with(excused, kind, place, one._replace(paused=True)))
    if state.caller.verb:
        gone = state._replace(caller=Caller())
        row = state.rows[state.caller.execution]._replace(locked=False)
        yield Move("caller", "crash", 0, gone.with_row(state.caller.execution, row))
    if state.incarnation or state.stream:
        yield Move("Redis", "flush", 0, _flushed(state))
    for execution, row in enumerate(state.rows):
        if row.status == QUEUED and not row.late:
            late = state.with_row(execution, row._replace(late=True))
            yield Move("time", "the start is late", row.token, late)


def _with(state: State, kind: str, place: int, one: Any) -> State:
    """Return the state with one of its processes replaced."""
    processes: dict[str, Any] = {kind: put(getattr(state, kind), place, one)}
    return state._replace(**processes)


def _flushed(state: State) -> State:
    """Everything in Redis is gone; what had begun and is not recorded may run again."""
    return _excuse(state, set(state.begun))._replace(
        incarnation=0, queue=(), marks=(), stream=(), delivered=state.appended
    )


def _excuse(state: State, tokens: set[int]) -> State:
    """Note between whose start and report the fault fell; who has reported is not excused."""
    open_ = {token for token in tokens if token in state.begun and token not in state.recorded}
    return state._replace(excused=state.excused | open_)


def _begin(state: State, setup: Setup, execution: int, row: Row) -> Iterator[Move]:
    if row.status == QUEUED:
        started, voided = guard.void(state, setup, row.token)
        locked = voided.with_row(execution, row._replace(locked=True))
        for verb in ("cancel", "withdraw"):
            asked = locked._replace(caller=Caller(verb, execution, started))
            said = "started" if started else "voided"
            yield Move("caller", f"{verb}, void: {said}", row.token, asked)
    elif row.status == RUNNING and not row.cancelling:
        requested = state.with_row(execution, row._replace(cancelling=True))
        yield Move("caller", "request cancel", row.token, requested)
    elif row.status != RUNNING:
        yield Move("caller", "cancel", 0, ledger.cancel(state, execution))


def _answer(state: State, caller: Caller) -> Move:
    """Commit what the guard's answer allows, and answer."""
    row = state.rows[caller.execution]._replace(locked=False)
    state = state._replace(caller=Caller()).with_row(caller.execution, row)
    if caller.started:
        state = ledger.start(state, row.token)
        if caller.verb == "cancel":
            running = state.rows[caller.execution]._replace(cancelling=True)
            state = state.with_row(caller.execution, running)
    elif caller.verb == "cancel":
        state = ledger.cancel(state, caller.execution)
    else:
        state = ledger.hand_back(state, row.token)
    return Move("caller", f"{caller.verb} is answered", row.token, state)


def ended(state: State, setup: Setup) -> bool:
    """Return whether every instant is in the ledger and has its final state."""
    return len(state.rows) == setup.executions and all(row.status in FINAL for row in state.rows)
