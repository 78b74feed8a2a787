"""What recorders do in the model: read, commit, acknowledge."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import ledger, planted
from tests.model.state import Entry, Move, Recorder, Setup, State, put


def moves(state: State, setup: Setup) -> Iterator[Move]:
    """Yield what any recorder may do next."""
    for place, one in enumerate(state.recorders):
        if one.paused:
            continue
        actor = f"recorder {place + 1}"
        if not one.batch:
            yield from _reads(state, place, actor)
        elif one.halfway == (setup.planted == planted.ACKNOWLEDGED_FIRST):
            yield from _commits(state, setup, place, actor)
        else:
            yield Move(actor, "acknowledge", 0, _step(_acknowledged(state, one.batch), place))


def _reads(state: State, place: int, actor: str) -> Iterator[Move]:
    new = tuple(entry for entry in state.stream if entry.position > state.delivered)
    if new:
        read = state._replace(delivered=new[-1].position)
        yield Move(actor, "read", 0, _put(read, place, Recorder(batch=new)))
    left = tuple(
        entry
        for entry in state.stream
        if entry.position <= state.delivered
        and not any(entry in other.batch and not other.paused for other in state.recorders)
    )
    if left:
        yield Move(actor, "take over", 0, _put(state, place, Recorder(batch=left)))


def _commits(state: State, setup: Setup, place: int, actor: str) -> Iterator[Move]:
    """One transaction; what somebody else has locked is waited for."""
    batch = state.recorders[place].batch
    if any(state.row_of(entry.token).locked for entry in batch):
        return
    ends = {entry.token for entry in batch if entry.verb in ("succeeded", "unsuccessful")}
    for entry in batch:
        if entry.verb == "started" and entry.token not in ends:
            state = ledger.start(state, entry.token)
    for entry in batch:
        if entry.verb == "released":
            state = ledger.hand_back(state, entry.token)
    for entry in batch:
        if entry.token in ends and entry.verb != "started":
            state = ledger.finish(state, setup, entry.token, entry.verb)
    yield Move(actor, "commit", 0, _step(state, place))


def _acknowledged(state: State, batch: tuple[Entry, ...]) -> State:
    return state._replace(stream=tuple(entry for entry in state.stream if entry not in batch))


def _step(state: State, place: int) -> State:
    """Note that the first of commit and acknowledge is done, or both."""
    one = state.recorders[place]
    return _put(state, place, Recorder() if one.halfway else one._replace(halfway=True))


def _put(state: State, place: int, one: Recorder) -> State:
    return state._replace(recorders=put(state.recorders, place, one))
