"""What schedulers do in the model: own, materialize, dispatch, rescue.

Everything that is two calls in the code is two moves here, with whatever may happen in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import guard, ledger, planted
from tests.model.state import (
    PENDING,
    QUEUED,
    RETRYING,
    RUNNING,
    Message,
    Move,
    Row,
    Scheduler,
    Setup,
    State,
    put,
)


def moves(state: State, setup: Setup) -> Iterator[Move]:
    """Yield what any scheduler may do next."""
    if not state.lease_free and not any(_owns(state, one) for one in state.schedulers):
        yield Move("time", "the partition's lease ends", 0, state._replace(lease_free=True))
    for place, one in enumerate(state.schedulers):
        if one.paused:
            continue
        actor = f"scheduler {place + 1}"
        if one.doing:
            yield from _goes_on(state, setup, place, actor)
        else:
            yield from _begins(state, setup, place, actor)


def _owns(state: State, one: Scheduler) -> bool:
    """Whether it is the owner and alive, so that it renews."""
    return one.epoch == state.epoch and not one.paused


def _begins(state: State, setup: Setup, place: int, actor: str) -> Iterator[Move]:
    one = state.schedulers[place]
    if state.lease_free:
        owned = state._replace(epoch=state.epoch + 1, lease_free=False)
        yield Move(
            actor, "acquire", 0, _put(owned, place, one._replace(epoch=owned.epoch, barrier=()))
        )
    if not one.epoch:
        return
    if len(state.rows) < setup.executions and one.epoch == state.epoch and not state.lease_free:
        yield Move(actor, "plan", 0, _doing(state, place, "planned", len(state.rows)))
    if any(_claimable(row) for row in state.rows):
        yield _look_at_incarnation(state, place, actor)
    for row in state.rows:
        if row.status == QUEUED and _is_late(state, row):
            started, voided = guard.void(state, setup, row.token)
            said = "void: started" if started else "void: voided"
            doing = _doing(voided, place, "voided", row.token, int(started))
            yield Move(actor, said, row.token, doing)
        if row.status == RUNNING and _is_gone(state, row.token):
            yield from _rescue_running(state, setup, place, actor, row)


def _goes_on(state: State, setup: Setup, place: int, actor: str) -> Iterator[Move]:
    what, *rest = state.schedulers[place].doing
    free = _doing(state, place)
    numbers = [int(number) for number in rest]
    if what == "planned":
        yield _materialize(state, setup, place, actor)
    elif what == "asked":
        yield from _claim(state, place, actor, incarnation=numbers[0])
    elif what == "claimed":
        message = Message(*numbers)
        yield Move(actor, "publish", message.token, free._replace(queue=(*free.queue, message)))
    elif not state.row_of(numbers[0]).locked:
        token, started = numbers
        rescued = ledger.start(free, token) if started else ledger.hand_back(free, token)
        yield Move(actor, "rescue QUEUED", token, rescued)


def _materialize(state: State, setup: Setup, place: int, actor: str) -> Move:
    one = state.schedulers[place]
    free = _doing(state, place)
    if one.epoch != state.epoch and setup.planted != planted.EPOCH_UNCHECKED:
        return Move(actor, "materialize: refused by the epoch", 0, free)
    if one.epoch != state.epoch:
        free = free._replace(broken="a scheduler wrote what it no longer owns")
    if one.doing[1] == len(state.rows):  # the id is derived: what is there stays
        free = free._replace(rows=(*free.rows, Row()))
    return Move(actor, "materialize", 0, free)


def _look_at_incarnation(state: State, place: int, actor: str) -> Move:
    if not state.incarnation:
        number = state.incarnations + 1
        state = state._replace(incarnation=number, incarnations=number)
    return Move(
        actor, "look at the incarnation", 0, _doing(state, place, "asked", state.incarnation)
    )


def _claim(state: State, place: int, actor: str, incarnation: int) -> Iterator[Move]:
    nothing = True
    for execution, row in enumerate(state.rows):
        if _claimable(row):
            nothing = False
            token = len(state.tokens) + 1
            queued = row._replace(status=QUEUED, token=token, incarnation=incarnation, late=False)
            claimed = state._replace(tokens=(*state.tokens, execution))
            claimed = claimed.with_row(execution, queued)
            doing = _doing(claimed, place, "claimed", token, incarnation, row.attempt + 1)
            yield Move(actor, "claim", token, doing)
    if nothing:
        yield Move(actor, "claim: nothing", 0, _doing(state, place))


def _claimable(row: Row) -> bool:
    return row.status in (PENDING, RETRYING) and not row.locked


def _is_late(state: State, row: Row) -> bool:
    """Whether the lease is over, or the work was sent under a former incarnation.

    A lease ends by itself only where nobody alive has the message, and nothing of it waits to be
    recorded; anywhere else its end is a fault of its own.
    """
    if row.late or (state.incarnation and row.incarnation != state.incarnation):
        return True
    return not (
        any(message.token == row.token for message in state.queue)
        or _is_held(state, row.token)
        or any(entry.token == row.token for entry in state.stream)
        or any(
            one.doing[:2] in (("claimed", row.token), ("voided", row.token)) and not one.paused
            for one in state.schedulers
        )
    )


def _is_gone(state: State, token: int) -> bool:
    """Whether the worker is silent, or had all the time that the lease gives."""
    return not _is_held(state, token)


def _is_held(state: State, token: int) -> bool:
    return any(job.token == token for one in state.workers if not one.paused for job in one.jobs)


def _rescue_running(state: State, setup: Setup, place: int, actor: str, row: Row) -> Iterator[Move]:
    one = state.schedulers[place]
    if not one.barrier or not _is_running(state, one.barrier[0]):
        noticed = one._replace(barrier=(row.token, state.appended))
        yield Move(actor, "notice the silence", row.token, _put(state, place, noticed))
    if one.barrier[:1] != (row.token,):
        return
    read = not any(entry.position <= one.barrier[1] for entry in state.stream)
    if (read or setup.planted == planted.BARRIER_IGNORED) and not row.locked:
        rescued = ledger.finish(state, setup, row.token, "lost")
        yield Move(
            actor, "rescue RUNNING", row.token, _put(rescued, place, one._replace(barrier=()))
        )


def _is_running(state: State, token: int) -> bool:
    row = state.row_of(token)
    return row.token == token and row.status == RUNNING


def _doing(state: State, place: int, *what: str | int) -> State:
    return _put(state, place, state.schedulers[place]._replace(doing=what))


def _put(state: State, place: int, one: Scheduler) -> State:
    return state._replace(schedulers=put(state.schedulers, place, one))
