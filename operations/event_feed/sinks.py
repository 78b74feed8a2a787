"""Where exported events go: the interface of a sink, and the one that writes files.

A sink keeps, for each tenant, the place up to which it has everything. :func:`drain` reads the feed
from there in batches, and moves the place after the batch is safe. A batch that is written again
after a crash begins at the same place, and replaces what was written of it.
"""

from __future__ import annotations

import fcntl
import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from uuid import UUID

import orjson

from events import feed
from events.feed import FeedEvent
from events.feed_places import FeedPlace
from shared.exceptions import Conflict, InvalidInput

#: Events of a batch; of each hour that it has events of, it makes one file.
_BATCH = 20_000
_LOCK = "lock"


class EventSink(Protocol):
    """Takes events in batches, and remembers up to which place it has them."""

    def place(self, tenant_id: UUID) -> FeedPlace | None:
        """Return the place up to which the sink has all events; None before the first batch."""

    def write(
        self, tenant_id: UUID, begin: FeedPlace, events: Sequence[FeedEvent], end: FeedPlace
    ) -> None:
        """Keep the events between two places, and then the second place.

        Called again with the same ``begin`` after a crash, it replaces what it has of the batch.
        """


def drain(sink: EventSink, tenant_id: UUID) -> int:
    """Hand all events of a tenant to the sink that it does not have; return how many.

    Raise Expired where events after the sink's place have left with their day.
    """
    begin = sink.place(tenant_id) or feed.start(tenant_id, after=None, since=None)
    count, more = 0, True
    while more:
        events: list[FeedEvent] = []
        place = begin
        while more and len(events) < _BATCH:
            page = feed.read_page(tenant_id, place, limit=feed.MAX_LIMIT)
            events += [event for event, _ in page.events]
            place, more = page.next, page.has_more
        if place != begin:
            sink.write(tenant_id, begin, events, place)
        count, begin = count + len(events), place
    return count


class FileSink:
    """Writes compressed JSON lines by tenant, day and hour, as object stores and loaders read them.

    ``events/tenant=<id>/date=2026-11-30/hour=08/<begin of the batch>.jsonl.gz``. Files appear
    whole; only those of a batch that was not finished are written again. The hour is that of the
    event, in UTC. ``cursors/<tenant>.json`` has the place of each tenant.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def place(self, tenant_id: UUID) -> FeedPlace | None:
        """Return the place of the tenant's cursor; raise InvalidInput for a damaged file."""
        path = self._cursor(tenant_id)
        try:
            kept = orjson.loads(path.read_bytes())
            return feed.start(tenant_id, after=kept["after"], since=None)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, InvalidInput) as error:
            raise Conflict(f"{path} holds no cursor. Remove it to begin anew.") from error

    def write(
        self, tenant_id: UUID, begin: FeedPlace, events: Sequence[FeedEvent], end: FeedPlace
    ) -> None:
        """Write a file for each hour, then the cursor; each by a rename, after a sync."""
        by_hour: dict[str, list[FeedEvent]] = {}
        for event in events:
            hour = f"date={event.at:%Y-%m-%d}/hour={event.at:%H}"
            by_hour.setdefault(hour, []).append(event)
        name = f"{begin.xid:020d}-{begin.event_id}-{begin.taken}.jsonl.gz"
        for hour, found in by_hour.items():
            path = self._directory / "events" / f"tenant={tenant_id}" / hour / name
            lines = [{"tenant_id": str(tenant_id), **event.document()} for event in found]
            content = b"".join(orjson.dumps(line) + b"\n" for line in lines)
            _replace(path, gzip.compress(content, mtime=0))
        kept = {"tenant_id": str(tenant_id), "after": feed.cursor(end, tenant_id)}
        _replace(self._cursor(tenant_id), orjson.dumps(kept))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other exports out of the directory; raise Conflict while another one runs."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Conflict("Another export writes into this directory.") from error
            yield

    def _cursor(self, tenant_id: UUID) -> Path:
        return self._directory / "cursors" / f"{tenant_id}.json"


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is either whole or not there, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # With a dot, so that loaders which read the folder pass it over.
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
