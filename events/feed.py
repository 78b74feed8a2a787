"""The event feed: what happened in a tenant, in one order, for readers outside of Punctual.

A reader has every committed event of the tenant once, in the order of transactions, as long as it
continues with the place that the last page gave it. Pages end below the oldest running transaction,
so that no event that commits late is skipped: a transaction that stays open delays the feed.

A batch of executions is shown as an event of each. A page may end within a batch, and the next one
continues there. The feed goes back as far as the history, ``RETENTION_DAYS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from events.feed_places import FeedPlace, cursor_of, place_at, place_at_the_end, place_of
from events.feed_types import TYPES, shown_data
from shared import database_clock
from shared.conf import conf
from shared.exceptions import Expired, FieldError, InvalidInput
from shared.ids import event_id, moment_of
from shared.instants import format_instant
from shared.sql import json_value, rows

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
#: Records read for one page, of any type. Reading one takes some microseconds; a reader of rare
#: types gets empty pages while it passes many others.
_SCANNED = 5000
_NO_EVENT = UUID(int=0)


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event as readers see it; ``id`` is unique and the same each time."""

    id: UUID
    type: str
    at: datetime
    subject_id: UUID
    task_id: UUID | None
    data: dict[str, Any] | None

    def document(self) -> dict[str, Any]:
        """Return the event as JSON values: the same for every reader."""
        return {
            "id": str(self.id),
            "type": self.type,
            "at": format_instant(self.at),
            "subject_id": str(self.subject_id),
            "task_id": None if self.task_id is None else str(self.task_id),
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events, each with the place after it; where to continue, and whether more may follow now."""

    events: list[tuple[FeedEvent, FeedPlace]]
    next: FeedPlace
    has_more: bool


class _Part(NamedTuple):
    """A single event, or the shown part of a batch."""

    xid: int
    id: UUID
    name: str
    at: datetime
    subject_id: UUID | None
    task_id: UUID | None
    subjects: list[UUID] | None
    tasks: list[UUID | None] | None
    data: Any
    begin: int
    stop: int
    size: int

    def place_after(self, taken: int) -> FeedPlace:
        """Return the place after a number of the record's events."""
        return FeedPlace(self.xid, self.id, taken if taken < self.size else 0, moment_of(self.id))


def start(tenant_id: UUID, *, after: str | None, since: datetime | None) -> FeedPlace:
    """Return the place that a reader names by a cursor or a time; the oldest kept event by default.

    Raise InvalidInput for both, and for a cursor that is none of this tenant's feed.
    """
    if after is None:
        oldest = kept_since(database_clock.now())
        return place_at(oldest if since is None else max(since, oldest))
    if since is not None:
        raise _refused("Give either after or since.")
    try:
        return place_of(after, tenant_id)
    except ValueError as error:
        message = "This cursor was not given by this feed. Begin with since, or without both."
        raise _refused(message) from error


def read_page(
    tenant_id: UUID, place: FeedPlace, *, types: Sequence[str] = TYPES, limit: int = DEFAULT_LIMIT
) -> FeedPage:
    """Return the next events of these types after a place, at most ``limit``.

    Raise Expired when events after the place may have left with their day, or when the place is of
    another database: this one was restored from a dump.
    """
    asked = {
        "tenant": tenant_id,
        "names": list(types),
        "xid": place.xid,
        "event": place.after,
        "low": place.low,
        "cut": place.event_id if place.taken else _NO_EVENT,
        "taken": place.taken,
        "limit": limit,
        "scan": _SCANNED,
    }
    found = rows("event_feed/page", asked)
    now, horizon, newest, scanned, last_xid, last_id = found[0][:6]
    _check(place, newest, now)
    parts = [_Part(*row[6:]) for row in found if row[7] is not None]
    events = [one for part in parts for one in _events_of(part)]
    if len(events) >= limit:
        return FeedPage(events, events[-1][1], has_more=True)
    if scanned == _SCANNED:
        return FeedPage(events, FeedPlace(last_xid, last_id, 0, moment_of(last_id)), has_more=True)
    return FeedPage(events, _at_the_end(place, horizon, now), has_more=False)


def cursor(place: FeedPlace, tenant_id: UUID) -> str:
    """Return the cursor by which a reader names the place."""
    return cursor_of(place, tenant_id)


def kept_since(now: datetime) -> datetime:
    """Return the begin of the oldest day that the feed keeps."""
    oldest = now.astimezone(UTC) - timedelta(days=conf().retention_days)
    return oldest.replace(hour=0, minute=0, second=0, microsecond=0)


def _check(place: FeedPlace, newest: int, now: datetime) -> None:
    if place.begins_by_time:
        return
    oldest = kept_since(now)
    if place.at < oldest:
        message = f"The events after this cursor are no longer kept. Begin with {_since(oldest)}."
        raise Expired(message, code="cursor_expired")
    if place.xid > newest:
        message = f"This cursor is of a time before a restore. Begin with {_since(place.at)}."
        raise Expired(message, code="cursor_expired")


def _since(moment: datetime) -> str:
    return f"since={format_instant(moment)}"


def _at_the_end(place: FeedPlace, horizon: int, now: datetime) -> FeedPlace:
    """Return the place after every event that can be read now."""
    if (place.xid, place.event_id) < (horizon, _NO_EVENT):
        return place_at_the_end(horizon, now)
    return place


def _events_of(part: _Part) -> Iterator[tuple[FeedEvent, FeedPlace]]:
    data = shown_data(part.name, json_value(part.data))
    if part.subjects is None or part.tasks is None:
        if part.subject_id is not None:
            single = FeedEvent(part.id, part.name, part.at, part.subject_id, part.task_id, data)
            yield single, part.place_after(1)
        return
    pairs = zip(part.subjects, part.tasks, strict=True)
    for place, (subject, task) in enumerate(pairs, start=part.begin):
        found = FeedEvent(event_id(part.id, place), part.name, part.at, subject, task, data)
        yield found, part.place_after(place + 1)


def _refused(message: str) -> InvalidInput:
    return InvalidInput([FieldError("?after", "invalid", message)], message)
