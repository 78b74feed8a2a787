"""What workers do in the model: take, ask the start guard, send, report."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import guard, planted
from tests.model.state import Entry, Job, Move, Setup, State, Worker, put


def moves(state: State, setup: Setup) -> Iterator[Move]:
    """Yield what any worker may do next."""
    for place, one in enumerate(state.workers):
        if one.paused:
            continue
        actor = f"worker {place + 1}"
        for number, message in enumerate(state.queue):
            job = Job(message.token, message.incarnation, message.attempt)
            taken = state._replace(queue=(*state.queue[:number], *state.queue[number + 1 :]))
            yield Move(actor, "take", job.token, _jobs(taken, place, (*one.jobs, job)))
        for job in one.jobs:
            yield from _job_moves(state, setup, place, job)


def _job_moves(state: State, setup: Setup, place: int, job: Job) -> Iterator[Move]:
    actor = f"worker {place + 1}"
    if job.phase == "held":
        if setup.planted == planted.SENT_FIRST:
            yield Move(actor, "send", job.token, _send(state, place, job, "unmarked"))
        else:
            yield _ask(state, setup, place, job)
    elif job.phase == "unmarked":
        _, marked = guard.start(state, setup, job.token, job.incarnation)
        changed = _change(marked, place, job, job._replace(phase="sent"))
        yield Move(actor, "ask the start guard", job.token, changed)
    elif job.phase == "going":
        yield Move(actor, "send", job.token, _send(state, place, job, "sent"))
    else:
        yield from _reports(state, setup, place, job)


def _ask(state: State, setup: Setup, place: int, job: Job) -> Move:
    verdict, marked = guard.start(state, setup, job.token, job.incarnation)
    if verdict == guard.GO:
        after = _change(marked, place, job, job._replace(phase="going"))
    else:
        after = _change(marked, place, job, None)
        if verdict == guard.STALE:
            after = _say(after, "released", job.token)
    return Move(f"worker {place + 1}", f"start: {verdict}", job.token, after)


def _reports(state: State, setup: Setup, place: int, job: Job) -> Iterator[Move]:
    actor = f"worker {place + 1}"
    if setup.announcements and not job.announced:
        told = _change(state, place, job, job._replace(announced=True))
        yield Move(actor, "report started", job.token, _say(told, "started", job.token))
    for verb in ("succeeded", "unsuccessful") if setup.failures else ("succeeded",):
        over = _change(state, place, job, None)
        yield Move(actor, f"report {verb}", job.token, _say(over, verb, job.token))


def _send(state: State, place: int, job: Job, phase: str) -> State:
    """Let the request leave.

    Another request for the same execution is a double, unless the earlier of the two was to be
    tried again, or its worker stopped or Redis forgot between its start and its report.
    """
    token = job.token
    for other in state.sent:
        earlier = min(other, token)
        if (
            state.execution_of(other) == state.execution_of(token)
            and earlier not in state.excused | state.retried
        ):
            state = state._replace(broken="a double that no crash explains")
    state = guard.begin(state, token)._replace(sent=state.sent | {token})
    return _change(state, place, job, job._replace(phase=phase))


def _say(state: State, verb: str, token: int) -> State:
    position = state.appended + 1
    entry = Entry(position, verb, token)
    return state._replace(stream=(*state.stream, entry), appended=position)


def _change(state: State, place: int, job: Job, changed: Job | None) -> State:
    others = [one for one in state.workers[place].jobs if one != job]
    return _jobs(state, place, tuple(others if changed is None else [*others, changed]))


def _jobs(state: State, place: int, jobs: tuple[Job, ...]) -> State:
    one = Worker(state.workers[place].paused, tuple(sorted(jobs)))
    return state._replace(workers=put(state.workers, place, one))
