"""The outbox: services append events in their own transaction, consumers read them by cursor.

A row is an event of one subject, or a batch: an event of each of its subjects, in their order.
Limits and cursors count rows, so a cursor never lies within a batch.

A consumer gets every committed event, in the order of transactions, and none twice unless its
own transaction rolls back. It reads only below the oldest running transaction, so that it skips
no event that commits late. A transaction that stays open therefore delays all consumers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from shared.ids import first_id_at
from shared.sql import Asked, json_value, rows, run
from shared.sql_arrays import of_uuids

log = logging.getLogger(__name__)

_NO_EVENT = UUID(int=0)
#: Longer than any transaction, and than any step of the database's clock.
_LONGEST = timedelta(days=1)
#: How often a consumer without news moves its cursor; more often would only add writes.
_NOTED_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event of one subject as consumers see it; (``id``, ``place``) is unique.

    ``place`` counts the subjects of a batch, whose events have one ``id``; others have 0.
    """

    id: UUID
    tenant_id: UUID
    name: str
    subject_id: UUID
    task_id: UUID | None
    data: Any
    at: datetime
    place: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """A consumer's cursor, and the state of the database when it was read."""

    xid: int
    event_id: UUID
    read_at: datetime
    horizon: int
    newest: int
    now: datetime

    @property
    def is_foreign(self) -> bool:
        """Return whether another server wrote it: the database was restored from a dump."""
        return self.xid > self.newest

    @property
    def is_stale(self) -> bool:
        return self.now - self.read_at > _NOTED_EVERY

    def bounds(self) -> dict[str, Any]:
        return {
            "xid": self.xid,
            "event": self.event_id,
            "horizon": self.horizon,
            "low": first_id_at(self.read_at - _LONGEST),
            "high": first_id_at(self.now + _LONGEST),
        }

    def at_the_end(self) -> _Place:
        """Return the place after every event that can be read at this moment."""
        xid, event_id = max((self.xid, self.event_id), (self.horizon, _NO_EVENT))
        return _Place(xid, event_id, self.now, self.horizon, self.newest, self.now)

    def restarted(self) -> _Place:
        """Return the place of a consumer that begins now."""
        return _Place(self.horizon, _NO_EVENT, self.now, self.horizon, self.newest, self.now)


def append(
    tenant_id: UUID,
    name: str,
    subject_id: UUID,
    task_id: UUID | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Append one event in the caller's transaction."""
    append_many(tenant_id, name, [(subject_id, task_id)], data)


def append_many(
    tenant_id: UUID,
    name: str,
    subjects: Sequence[tuple[UUID, UUID | None]],
    data: Mapping[str, Any] | None = None,
) -> None:
    """Append an event of the same name for each (subject, task), in one statement.

    A scheduler makes the tables days ahead. Without a table for today the events are lost, and
    the caller's change is kept.
    """
    if subjects:
        note_lost(name, run(*appending(tenant_id, name, subjects, data)))


@dataclass(frozen=True, slots=True)
class Appended:
    """An event to be appended."""

    tenant_id: UUID
    name: str
    subject_id: UUID
    task_id: UUID | None
    data: Mapping[str, Any] | None


def append_each(events: Sequence[Appended]) -> None:
    """Append events of several tenants, names and data in one statement, as :func:`append_many`."""
    if not events:
        return
    parameters = {
        "tenants": of_uuids([one.tenant_id for one in events]),
        "names": [one.name for one in events],
        "subjects": of_uuids([one.subject_id for one in events]),
        "tasks": of_uuids([one.task_id for one in events]),
        "data": [_as_json(one.data) for one in events],
    }
    note_lost(events[0].name, run("outbox/append_each", parameters))


def appending(
    tenant_id: UUID,
    name: str,
    subjects: Sequence[tuple[UUID, UUID | None]],
    data: Mapping[str, Any] | None = None,
) -> Asked:
    """Return the statement that appends events, for a caller that runs others with it.

    The caller passes the number of appended rows to :func:`note_lost`.
    """
    parameters = {
        "tenant": tenant_id,
        "name": name,
        "subjects": of_uuids([subject for subject, _ in subjects]),
        "tasks": of_uuids([task for _, task in subjects]),
        "data": _as_json(data),
    }
    return "outbox/append", parameters


def note_lost(name: str, appended: int) -> None:
    """Log that events were lost when none were appended."""
    if not appended:
        log.error("events.lost", extra={"event_name": name, "reason": "no table for today"})


@dataclass(frozen=True, slots=True)
class OfTenants:
    """Events of these names are wanted only of some tenants.

    ``tenants`` is asked in the transaction that reads the events.
    """

    names: tuple[str, ...]
    tenants: Callable[[], Collection[UUID]]


def consume(
    consumer: str,
    limit: int,
    handle: Callable[[list[Recorded]], None],
    *,
    names: Sequence[str] | None = None,
    besides: OfTenants | None = None,
) -> int:
    """Hand the events of the next rows to ``handle`` and move the cursor, in one transaction.

    ``limit`` counts rows; a batch is handed over whole. Return how many rows there were: 0 also
    when another process is reading as this consumer. When ``handle`` raises, the next call reads
    the rows again. A consumer's first call starts at the current end. With ``names`` the database
    skips events of other names, which is cheap, but counts their rows; ``besides`` adds names for
    some tenants.
    """
    if names is not None:
        return _consume_named(consumer, limit, handle, names, besides)

    def hand_over(found: list[tuple[Any, ...]]) -> int:
        if found:
            handle([event for row in found for event in _recorded(row[:-1])])
        return len(found)

    return _consume(consumer, limit, "outbox/read", hand_over)


def _consume_named(
    consumer: str,
    limit: int,
    handle: Callable[[list[Recorded]], None],
    names: Sequence[str],
    besides: OfTenants | None,
) -> int:
    def hand_over(found: list[tuple[Any, ...]]) -> int:
        if not found:
            return 0
        named = [row[1:-2] for row in found if row[1] is not None]
        events = [event for row in named for event in _recorded(row)]
        if events:
            handle(events)
        return int(found[0][-2])

    def wanted() -> dict[str, Any]:
        return {
            "names": list(names),
            "some_names": list(besides.names if besides else ()),
            "tenants": of_uuids(besides.tenants() if besides else ()),
        }

    return _consume(consumer, limit, "outbox/read_named", hand_over, wanted)


def lock_cursor(consumer: str) -> bool:
    """Lock a consumer's cursor until the caller's transaction ends, so that no event is read.

    Return False while another process reads as this consumer, and before its first reading.
    """
    return _place("outbox/lock_place", consumer) is not None


def consume_tally(
    consumer: str, limit: int, handle: Callable[[Mapping[tuple[UUID, str], int]], None]
) -> int:
    """As :func:`consume`, but hand over only how many rows of each tenant and name there were."""

    def hand_over(found: list[tuple[Any, ...]]) -> int:
        if not found:
            return 0
        handle({(tenant_id, name): count for _, tenant_id, name, count, _, _ in found})
        return int(found[0][4])

    return _consume(consumer, limit, "outbox/tally", hand_over)


def _consume(
    consumer: str,
    limit: int,
    statement: str,
    hand_over: Callable[[list[tuple[Any, ...]]], int],
    parameters: Callable[[], dict[str, Any]] = dict,
) -> int:
    """Read with a statement whose rows begin with the last event's id and end with its xid."""
    if not _is_worthwhile(consumer):
        return 0
    with transaction.atomic(durable=True):
        place = _place("outbox/lock_place", consumer)
        if place is None:
            return 0
        if place.is_foreign:
            log.warning("event_cursor.restarted", extra={"consumer": consumer})
            place = place.restarted()
        found = rows(statement, {**place.bounds(), **parameters(), "limit": limit})
        count = hand_over(found)
        _move(consumer, place, found[-1] if count == limit else None)
    return count


def _is_worthwhile(consumer: str) -> bool:
    """Return whether to read. Takes no lock: an idle consumer would write one every second."""
    place = _place("outbox/place", consumer)
    if place is None:
        run("outbox/begin", {"consumer": consumer})
        return False
    if place.is_foreign or place.is_stale:
        return True
    return bool(rows("outbox/has_news", place.bounds())[0][0])


def _place(statement: str, consumer: str) -> _Place | None:
    found = rows(statement, {"consumer": consumer})
    return _Place(*found[0]) if found else None


def _move(consumer: str, place: _Place, last: tuple[Any, ...] | None) -> None:
    """Move the cursor to the last event read, or to this moment when every event was read."""
    end = place.at_the_end()
    position = {"xid": end.xid, "event": end.event_id, "read_at": end.read_at}
    if last is not None:
        position = {"xid": last[-1], "event": last[0], "read_at": place.read_at}
    run("outbox/advance", {"consumer": consumer, **position})


def _as_json(data: Mapping[str, Any] | None) -> str | None:
    return None if data is None else orjson.dumps(data, default=str).decode()


def _recorded(row: tuple[Any, ...]) -> list[Recorded]:
    event_id, tenant_id, name, subject_id, task_id, subjects, tasks, data, at = row
    moved = [(subject_id, task_id)] if subjects is None else zip(subjects, tasks, strict=True)
    value = json_value(data)
    return [
        Recorded(event_id, tenant_id, name, subject, task, value, at, place)
        for place, (subject, task) in enumerate(moved)
    ]
