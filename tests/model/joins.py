"""A run of a workflow as an executable model: two parents, their join, and the inbox between.

Recorders end steps, each in a transaction that writes into the run's inbox; the process that did it
advances the run after the commit, in a transaction of its own; a scheduler advances what a crash
has left. Each statement of an advance that others can come between is a move. A retry begins what
has failed as another take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model import planted
from tests.model.state import FAILED, PENDING, SUCCEEDED, put

OPEN, SKIPPED, BEGAN = "OPEN", "SKIPPED", "BEGAN"
OVER = frozenset({SUCCEEDED, FAILED, SKIPPED})
FIRST, SECOND, JOIN = range(3)
PARENTS = (FIRST, SECOND)

TOLD, ASKING, LOCKED, TAKEN = "told", "asking", "locked", "taken"
NO_OWNER = -1

TWICE = "a step begins twice"
EARLY = "a join begins before its parents have succeeded"
LEFT_OPEN = "a run ends while a step of it is open"

#: Step, take, and how it ended; BEGAN: its take is to be judged anew.
End = tuple[int, int, str]


class JoinSetup(NamedTuple):
    """How large the model is, and which bug is planted."""

    recorders: int = 2
    #: Crashes, and ends of an earlier take that come late, together.
    faults: int = 0
    retries: int = 0
    #: Whether steps may fail.
    failures: bool = False
    planted: str = ""


class Advance(NamedTuple):
    """What a process is in the middle of; no phase: nothing."""

    phase: str = ""
    #: The run as it was read, and what was taken from its inbox: both known to this process alone.
    states: tuple[str, ...] = ()
    taken: tuple[End, ...] = ()


class JoinState(NamedTuple):
    """Everything at one moment."""

    # The run's row, and who has locked it
    states: tuple[str, ...] = (OPEN, OPEN, PENDING)
    takes: tuple[int, ...] = (1, 1, 0)
    take: int = 1
    owner: int = NO_OWNER
    #: How it has ended; its row is gone then.
    over: str = ""
    inbox: tuple[End, ...] = ()
    # The executions of its steps
    open: frozenset[tuple[int, int]] = frozenset({(FIRST, 1), (SECOND, 1)})
    ended: frozenset[End] = frozenset()
    #: The recorders, then the scheduler.
    processes: tuple[Advance, ...] = ()
    faults: int = 0
    retries: int = 0
    #: Which steps have begun, by take: watched, and known to no process.
    begun: frozenset[tuple[int, int]] = frozenset({(FIRST, 1), (SECOND, 1)})
    broken: str = ""


class JoinMove(NamedTuple):
    """One step of one actor, and what is the case after it."""

    actor: str
    verb: str
    state: JoinState
    is_fault: bool = False

    def __str__(self) -> str:
        return f"{self.actor}: {self.verb}"


def first_join(setup: JoinSetup) -> JoinState:
    """Return the state in which both parents have begun."""
    return JoinState(
        processes=(Advance(),) * (setup.recorders + 1),
        faults=setup.faults,
        retries=setup.retries,
    )


def join_ended(state: JoinState) -> bool:
    """Return whether the run has ended, and nothing of it is open."""
    return bool(state.over) and not state.open


def join_moves(state: JoinState, setup: JoinSetup) -> Iterator[JoinMove]:
    """Yield every step from a state; nothing follows a broken invariant."""
    if state.broken:
        return
    for place, one in enumerate(state.processes):
        is_scheduler = place == setup.recorders
        actor = "scheduler" if is_scheduler else f"recorder {place + 1}"
        if one.phase:
            yield from _advances(state, setup, place, actor)
        elif not is_scheduler:
            yield from _ends(state, setup, place, actor)
        elif state.inbox and not state.over and setup.planted != planted.NOT_REPAIRED:
            yield JoinMove(actor, "find the run left behind", _put(state, place, Advance(TOLD)))
    if state.over == FAILED and state.retries:
        yield JoinMove("operator", "retry", _retried(state))
    if state.faults:
        for move in _faults(state, setup):
            fewer = move.state._replace(faults=state.faults - 1)
            yield move._replace(state=fewer, is_fault=True)


def _ends(state: JoinState, setup: JoinSetup, place: int, actor: str) -> Iterator[JoinMove]:
    """End a step, and write into the inbox: one transaction, which waits for no run."""
    for step, take in sorted(state.open):
        for status in (SUCCEEDED, FAILED) if setup.failures else (SUCCEEDED,):
            end = (step, take, status)
            inbox = tuple(sorted((*state.inbox, end)))
            after = state._replace(
                open=state.open - {(step, take)},
                ended=state.ended | {end},
                inbox=state.inbox if setup.planted == planted.INBOX_FORGOTTEN else inbox,
            )
            yield JoinMove(actor, f"end step {step} {status}", _put(after, place, Advance(TOLD)))


def _advances(state: JoinState, setup: JoinSetup, place: int, actor: str) -> Iterator[JoinMove]:
    one = state.processes[place]
    may_lock = state.owner == NO_OWNER or setup.planted == planted.RUN_UNLOCKED
    if one.phase == TOLD and state.over:
        yield JoinMove(actor, "find no run", _put(state, place, Advance()))
    elif one.phase == TOLD and setup.planted == planted.JUDGED_AS_BEFORE:
        asking = Advance(ASKING, state.states, state.inbox)
        yield JoinMove(actor, "read, and wait for the run", _put(state, place, asking))
    elif one.phase in (TOLD, ASKING) and may_lock:
        locked = _put(state, place, one._replace(phase=LOCKED))
        yield JoinMove(actor, "lock the run", locked._replace(owner=place))
    elif one.phase == LOCKED:
        yield JoinMove(actor, "take the inbox", _taken(state, place))
    elif one.phase == TAKEN:
        yield JoinMove(actor, "commit the advance", _committed(state, setup, place))


def _taken(state: JoinState, place: int) -> JoinState:
    """Read the run, unless that was done before it was locked, and take what is in its inbox."""
    one = state.processes[place]
    mine = tuple(end for end in state.inbox if not one.states or end in one.taken)
    left = tuple(end for end in state.inbox if end not in mine)
    taken = Advance(TAKEN, one.states or state.states, mine)
    return _put(state._replace(inbox=left), place, taken)


def _committed(state: JoinState, setup: JoinSetup, place: int) -> JoinState:
    one = state.processes[place]
    after = _put(state, place, Advance())
    after = after._replace(owner=NO_OWNER if state.owner == place else state.owner)
    if state.over:
        return after
    states, takes = list(one.states), state.takes
    for step, take, status in one.taken:
        fits = take == takes[step] or setup.planted == planted.TAKE_IGNORED
        if fits and states[step] == OPEN:
            states[step] = status
    if states[JOIN] == PENDING:
        parents = {states[parent] for parent in PARENTS}
        if parents == {SUCCEEDED}:
            states[JOIN] = OPEN
            after = _begun(after._replace(takes=put(takes, JOIN, state.take)), JOIN)
        elif FAILED in parents:
            states[JOIN] = SKIPPED
    return _over(after._replace(states=tuple(states)))


def _begun(state: JoinState, step: int) -> JoinState:
    place = (step, state.take)
    broken = TWICE if place in state.begun else state.broken
    succeeded = {(parent, state.takes[parent], SUCCEEDED) for parent in PARENTS}
    if step == JOIN and not succeeded <= state.ended:
        broken = EARLY
    return state._replace(open=state.open | {place}, begun=state.begun | {place}, broken=broken)


def _over(state: JoinState) -> JoinState:
    """End the run where nothing of it is open; what its inbox still has goes with it."""
    if not set(state.states) <= OVER:
        return state
    status = FAILED if FAILED in state.states else SUCCEEDED
    return state._replace(over=status, inbox=(), broken=LEFT_OPEN if state.open else state.broken)


def _retried(state: JoinState) -> JoinState:
    """Begin the next take: what has failed, and what comes behind it."""
    state = state._replace(retries=state.retries - 1, take=state.take + 1, over="")
    for step in PARENTS:
        if state.states[step] != SUCCEEDED:
            state = state._replace(
                states=put(state.states, step, OPEN), takes=put(state.takes, step, state.take)
            )
            state = _begun(state, step)
    # A scheduler begins the take, and advances it.
    told = (JOIN, state.take, BEGAN)
    return state._replace(states=put(state.states, JOIN, PENDING), inbox=(told,))


def _faults(state: JoinState, setup: JoinSetup) -> Iterator[JoinMove]:
    for place, one in enumerate(state.processes):
        if one.phase:
            # PostgreSQL takes back what was not committed.
            inbox = tuple(sorted((*state.inbox, *one.taken) if one.phase == TAKEN else state.inbox))
            if setup.planted == planted.TAKEN_BEFORE:
                inbox = state.inbox
            gone = state._replace(
                owner=NO_OWNER if state.owner == place else state.owner,
                inbox=() if state.over else inbox,
            )
            name = "scheduler" if place == setup.recorders else f"recorder {place + 1}"
            yield JoinMove(name, "crash", _put(gone, place, Advance()))
    if not state.over:
        for step, take, status in sorted(state.ended):
            if take < state.takes[step]:
                late = tuple(sorted((*state.inbox, (step, take, status))))
                told = state._replace(inbox=late)
                yield JoinMove("zombie", f"tell the end of step {step} of take {take}", told)


def _put(state: JoinState, place: int, one: Advance) -> JoinState:
    return state._replace(processes=put(state.processes, place, one))
