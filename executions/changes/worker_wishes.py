"""Quiet, drain and resume: what operators of the installation wish of its workers.

A quiet worker takes no new work and finishes what it runs; one that drains ends when it is empty.
Doors let in operators alone: workers serve all tenants. A wish is about workers that live now, each
by its own id; a worker that starts later takes work. :mod:`wire.worker_wishes` keeps the wishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction

from events import audit
from events.audit import Change
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, Unavailable
from shared.redis_client import ConnectionFailed
from wire import heartbeats, worker_wishes
from wire.heartbeats import WorkerInfo
from wire.worker_wishes import Word

#: Workers that one call may name; each is an entry of the audit log.
MOST_WORKERS = 1_000
_LONGEST_ID = 100


class Action(StrEnum):
    """A change of a wish."""

    QUIET = "quiet"
    DRAIN = "drain"
    RESUME = "resume"


_WORDS = {Action.QUIET: Word.QUIET, Action.DRAIN: Word.DRAIN, Action.RESUME: Word.WORK}
#: Action -> how the audit log names it.
_NAMES = {
    Action.QUIET: "worker.quieted",
    Action.DRAIN: "worker.drained",
    Action.RESUME: "worker.resumed",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which workers: the one with this id, or all live ones of a pool or of a host."""

    worker: str | None = None
    pool: str | None = None
    host: str | None = None

    def __post_init__(self) -> None:
        """Raise InvalidInput unless exactly one of them is given."""
        if sum(bool(one) for one in (self.worker, self.pool, self.host)) != 1:
            message = "Give one of these: worker, pool or host."
            raise InvalidInput([FieldError("#/worker", "one_of", message)], message)


@dataclass(frozen=True, slots=True)
class Wished:
    """The chosen workers, by id, whose wish has changed, and those that had it already."""

    changed: Sequence[str]
    unchanged: Sequence[str]


def wish(action: Action, choice: Choice, *, actor: Actor) -> Wished:
    """Make the chosen workers quiet, drain them, or let them work again: all of them, or none.

    Raise NotFound where no such worker lives, Conflict where one of them cannot follow or has been
    changed by another operator, Unavailable while Redis cannot be asked: then nothing has changed.
    """
    try:
        chosen = _chosen(choice)
        for one in chosen:
            _refuse_deaf(one)
        word = _WORDS[action]
        changing = [one for one in chosen if one.wish.word != word]
        with transaction.atomic():
            # First the entry: Redis knows no way back, and the database undoes it.
            audit.record_many(audit.INSTALLATION, actor, [_entry(one, action) for one in changing])
            _change(word, changing)
    except ConnectionFailed as error:
        message = "Redis, which knows the workers, cannot be reached; nothing has changed."
        raise Unavailable(message) from error
    names = [one.id for one in changing]
    return Wished(names, [one.id for one in chosen if one.wish.word == word])


def _chosen(choice: Choice) -> list[WorkerInfo]:
    """Return the live workers of the installation that are meant; raise NotFound without any."""
    known = heartbeats.everyone()
    if choice.worker:
        named = [one for one in known if one.id == choice.worker]
        if named and named[0].tenant is not None:
            message = (
                "This is a pull worker, a tenant's own program: pause its pool, or make it stop "
                "leasing."
            )
            raise Conflict(message)
        found = [one for one in named if one.live]
    else:
        own = [one for one in known if one.live and one.tenant is None]
        found = [
            one
            for one in own
            if choice.pool in (None, one.pool)
            and choice.host in (None, one.details.get("host"))
            # Those of a group that stop already need no wish.
            and not _stops(one)
        ]
    if not found:
        raise NotFound(f"No such worker lives: {_words(choice)}. `workers list` shows them all.")
    if len(found) > MOST_WORKERS:
        message = f"These are {len(found):,} workers; one call takes {MOST_WORKERS:,} at most."
        raise InvalidInput([FieldError("#/pool", "too_many", message)], message)
    return sorted(found, key=lambda one: one.id)


def _words(choice: Choice) -> str:
    if choice.worker:
        return f"id {choice.worker[:_LONGEST_ID]}"
    return f"pool {choice.pool}" if choice.pool else f"host {choice.host}"


def _stops(one: WorkerInfo) -> bool:
    """Return whether it stops and no wish can change that."""
    return one.wish.word == Word.END or (one.state == "draining" and not one.wish.ends)


def _refuse_deaf(one: WorkerInfo) -> None:
    """Raise Conflict where the worker cannot do as is wished."""
    if _stops(one):
        raise Conflict(f"The worker {one.id} stops already; nothing has changed.")
    if not one.heeds:
        message = (
            f"The worker {one.id} runs a version that cannot become quiet; nothing has changed. "
            "Stop it by a signal: SIGTERM drains it."
        )
        raise Conflict(message)


def _entry(one: WorkerInfo, action: Action) -> Change:
    before, after = {"wish": one.wish.word.value}, {"wish": _WORDS[action].value}
    return Change(_NAMES[action], "worker", one.id[:_LONGEST_ID], before, after)


def _change(word: Word, changing: Sequence[WorkerInfo]) -> None:
    if not changing:
        return
    other = worker_wishes.change(word, {one.id: one.wish.version for one in changing})
    if other:
        message = (
            f"The worker {other} ended or was changed just now; nothing has changed. Look again."
        )
        raise Conflict(message)
