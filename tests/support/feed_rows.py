"""Rows of the outbox for readers of the feed, and a session that commits late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection

from events.feed import FeedEvent, read_page
from events.feed_places import FeedPlace
from events.outbox import append
from shared.ids import new_id
from shared.sql import statement

_BATCH = "INSERT INTO events (tenant_id, name, subjects, tasks) VALUES (%s, %s, %s, %s)"


def write(tenant_id: UUID, *names: str, data: dict[str, Any] | None = None) -> list[UUID]:
    """Write a single event of each name; return their subjects."""
    subjects = [new_id() for _ in names]
    for name, subject in zip(names, subjects, strict=True):
        append(tenant_id, name, subject, None, data)
    return subjects


def write_batch(tenant_id: UUID, size: int, name: str = "execution.queued") -> list[UUID]:
    """Write one row for so many executions; return them in their order."""
    subjects, tasks = [new_id() for _ in range(size)], [new_id() for _ in range(size)]
    with connection.cursor() as cursor:
        cursor.execute(_BATCH, [tenant_id, name, subjects, tasks])
    return subjects


@contextmanager
def late_event(tenant_id: UUID, name: str) -> Iterator[psycopg.Connection[Any]]:
    """Write an event in a second session, whose transaction stays open until it is committed."""
    parameters = connection.get_connection_params()
    for given in ("cursor_factory", "context"):
        parameters.pop(given, None)
    asked = {"tenant": tenant_id, "name": name, "subjects": [new_id()], "tasks": [None]}
    with psycopg.connect(**parameters) as beside:
        beside.execute(statement("outbox/append"), {**asked, "data": None})
        yield beside


def read_on(
    tenant_id: UUID, place: FeedPlace, limit: int, **options: Any
) -> tuple[list[FeedEvent], FeedPlace]:
    """Read pages until there is no more; return the events and where the feed continues."""
    found: list[FeedEvent] = []
    more = True
    while more:
        page = read_page(tenant_id, place, limit=limit, **options)
        assert len(page.events) <= limit
        found += [event for event, _ in page.events]
        place, more = page.next, page.has_more
    return found, place
