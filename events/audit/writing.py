"""Appends audit entries in the transaction of the change that they record.

The database numbers the entries and computes their codes in the statement that inserts them, so
that the lock on the tenant's chain lasts no extra round trip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction

from events import outbox
from events.audit import keys, links
from shared import tenant_scope
from shared.actor import Actor
from shared.ids import new_ids
from shared.redaction import redact
from shared.sql import Asked, Done, at_last, together
from shared.sql_arrays import of_integers, of_moments, of_texts, of_uuids

#: Takes the place of a tenant for the chain of the installation, such as accounts of people.
INSTALLATION = UUID(int=0)
#: Kinds of objects whose changes are events too.
_TOLD = ("task", "dead_letter", "pause")


@dataclass(frozen=True, slots=True)
class Change:
    """One change to be recorded; ``before`` and ``after`` hold only what changed."""

    action: str
    object_kind: str
    object_id: UUID | str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The statements that record changes, for a caller that runs others with them.

    The caller passes their results to :meth:`note`.
    """

    asked: tuple[Asked, ...]
    _told: tuple[str, ...]

    def note(self, done: Sequence[Done]) -> None:
        """Log the events that were lost."""
        for name, told in zip(self._told, done, strict=False):
            outbox.note_lost(name, told.number)


def record(
    tenant_id: UUID,
    actor: Actor | str,
    action: str,
    object_kind: str,
    object_id: UUID | str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Append one entry to the tenant's chain, in the caller's transaction."""
    change = Change(action, object_kind, object_id, before, after)
    record_many(tenant_id, actor, [change])


def record_of_installation(
    actor: Actor, action: str, object_kind: str, object_id: UUID | str, **after: Any
) -> None:
    """Append an entry about an act that belongs to no tenant, such as a backup."""
    record(INSTALLATION, actor, action, object_kind, object_id, after=after or None)


# No savepoint: no caller continues after a change that could not be recorded.
@transaction.atomic(savepoint=False)
def record_many(tenant_id: UUID, actor: Actor | str, changes: Sequence[Change]) -> None:
    """Append many entries at the price of one; within ``sent_with_commit``, with the COMMIT."""
    if changes:
        made = recording(tenant_id, [_as_actor(actor)] * len(changes), changes)
        if tenant_scope.covers(tenant_id):
            at_last(*made.asked, then=made.note)
            return
        # The chain of the installation, or of a tenant that is no longer in scope at the COMMIT.
        with tenant_scope.scoped(tenant_id):
            made.note(together(*made.asked))


def recording(tenant_id: UUID, actors: Sequence[Actor], changes: Sequence[Change]) -> Recording:
    """Return the statements that append an entry for each change; ``actors`` has their order."""
    at, key_id = datetime.now(UTC), keys.active_key()[0]
    entries = [
        _entry(entry_id, at, actor, change, key_id)
        for entry_id, actor, change in zip(new_ids(len(changes)), actors, changes, strict=True)
    ]
    told = _told(changes)
    events = [outbox.appending(tenant_id, name, subjects) for name, subjects in told.items()]
    lock = ("audit/lock_chain", {"tenant": tenant_id})
    begin = ("audit/begin_chain", {"tenant": tenant_id, "hash": links.START})
    return Recording((*events, lock, begin, _appending(tenant_id, entries)), tuple(told))


def _told(changes: Sequence[Change]) -> dict[str, list[tuple[UUID, UUID | None]]]:
    """Return the (subject, task) of each event of the changes, by the event's name."""
    told: dict[str, list[tuple[UUID, UUID | None]]] = {}
    for kind in _TOLD:
        ids = {
            change.object_id
            for change in changes
            if change.object_kind == kind and isinstance(change.object_id, UUID)
        }
        in_order = sorted(ids, key=attrgetter("int"))
        if in_order:
            told[f"{kind}.changed"] = [(one, one if kind == "task" else None) for one in in_order]
    return told


class _Entry(NamedTuple):
    """What is written of an entry; its number and its code are the database's."""

    id: UUID
    at: datetime
    actor: str
    address: str
    trace_id: str
    action: str
    object_kind: str
    object_id: str
    before: str | None
    after: str | None
    key_id: str


def _appending(tenant_id: UUID, entries: Sequence[_Entry]) -> Asked:
    _, key = keys.active_key()
    pads = [keys.pads_of_entry(key, entry.id) for entry in entries]
    heads = [links.head(entry) for entry in entries]
    tails = [links.tail(tenant_id, entry.trace_id) for entry in entries]
    columns = {
        "ids": of_uuids([entry.id for entry in entries]),
        "moments": of_moments([entry.at for entry in entries]),
        "actors": of_texts([entry.actor for entry in entries]),
        "addresses": of_texts([entry.address for entry in entries]),
        "trace_ids": of_texts([entry.trace_id for entry in entries]),
        "actions": of_texts([entry.action for entry in entries]),
        "kinds": of_texts([entry.object_kind for entry in entries]),
        "objects": of_texts([entry.object_id for entry in entries]),
        "befores": of_texts([entry.before for entry in entries]),
        "afters": of_texts([entry.after for entry in entries]),
        "heads": b"".join(heads),
        "head_ends": of_integers(accumulate(map(len, heads), initial=0)),
        "tails": b"".join(tails),
        "tail_ends": of_integers(accumulate(map(len, tails), initial=0)),
        "key_ids": of_texts([entry.key_id for entry in entries]),
        "inner": b"".join([one.inner for one in pads]),
        "outer": b"".join([one.outer for one in pads]),
    }
    return "audit/append", {"tenant": tenant_id, **columns}


def _entry(entry_id: UUID, at: datetime, actor: Actor, change: Change, key_id: str) -> _Entry:
    # Positional: keywords take three times as long.
    return _Entry(
        entry_id,
        at,
        actor.name[:200],
        actor.address[:64],
        actor.trace_id[:32],
        change.action,
        change.object_kind,
        str(change.object_id),
        _canonical(change.before),
        _canonical(change.after),
        key_id,
    )


def _canonical(value: Mapping[str, Any] | None) -> str | None:
    if value is None:
        return None
    return orjson.dumps(redact(value), option=orjson.OPT_SORT_KEYS, default=str).decode()


def _as_actor(actor: Actor | str) -> Actor:
    return Actor(actor) if isinstance(actor, str) else actor
