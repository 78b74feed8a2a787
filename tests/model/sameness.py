"""Which states of the model are the same: those that nobody can ever tell apart.

Processes of a kind have no names; what is known of a token goes when no message, entry, process or
open row names it any more; positions in the stream count only from each other.
"""

from __future__ import annotations

from bisect import bisect_right

from tests.model.state import FINAL, Entry, Scheduler, State

#: What a scheduler is in the middle of that names a token.
_OF_A_TOKEN = (("claimed",), ("voided",))


def canonical(state: State) -> State:
    """Return the one that stands for all states that are the same."""
    if state.broken:
        return state
    return _ordered(_counted(_forgetful(state)))


def _ordered(state: State) -> State:
    return state._replace(
        schedulers=tuple(sorted(state.schedulers)),
        workers=tuple(sorted(state.workers)),
        recorders=tuple(sorted(state.recorders)),
        queue=tuple(sorted(state.queue)),
    )


def _forgetful(state: State) -> State:
    held = {job.token for one in state.workers for job in one.jobs}
    named = held | {message.token for message in state.queue}
    named |= {entry.token for entry in state.stream}
    named |= {entry.token for one in state.recorders for entry in one.batch}
    named |= {int(one.doing[1]) for one in state.schedulers if one.doing[:1] in _OF_A_TOKEN}
    named |= {row.token for row in state.rows if row.status not in FINAL}
    if named >= set(range(1, len(state.tokens) + 1)):
        return state
    unfinished = {place for place, row in enumerate(state.rows) if row.status not in FINAL}
    unfinished |= {state.execution_of(token) for token in named if token}
    # An earlier request counts until no later one can leave.
    called = {token for token, place in enumerate(state.tokens, 1) if place in unfinished}
    return state._replace(
        marks=tuple(mark for mark in state.marks if mark.token in named),
        begun=state.begun & named,
        withdrawn=state.withdrawn & named,
        recorded=state.recorded & named,
        sent=state.sent & called,
        excused=state.excused & called,
        retried=state.retried & called,
    )


def _counted(state: State) -> State:
    batches = [entry for one in state.recorders for entry in one.batch]
    left = sorted({entry.position for entry in (*state.stream, *batches)})
    if state.appended == len(left):
        return state
    place = {position: number for number, position in enumerate(left, 1)}

    def moved(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(entry._replace(position=place[entry.position]) for entry in entries)

    return state._replace(
        stream=moved(state.stream),
        delivered=bisect_right(left, state.delivered),
        appended=len(left),
        recorders=tuple(one._replace(batch=moved(one.batch)) for one in state.recorders),
        schedulers=tuple(_with_barrier(one, left) for one in state.schedulers),
    )


def _with_barrier(one: Scheduler, left: list[int]) -> Scheduler:
    if not one.barrier:
        return one
    token, position = one.barrier
    return one._replace(barrier=(token, bisect_right(left, position)))
