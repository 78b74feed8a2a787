"""``manage.py executions tail``: the latest executions, and with ``-f`` every change of one.

Follows the event outbox: an event names the executions that have moved, and their rows have the new
states. Events of slow transactions appear late, so each read goes a little back and skips the
events that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from events.models import Event
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.querysets import ExecutionQuerySet
from operations.executions.reading import (
    add_filters,
    chosen,
    documents_of,
    lines_of,
)
from operations.following import wait_for
from shared.commands import PunctualCommand, wrong_use
from shared.ids import first_id_at
from tenants.services import get_tenant

_WINDOW = timedelta(days=1)
_LOOK_BACK = timedelta(seconds=5)
_MOST = 5000
_OF_EXECUTIONS = "execution."
_SHORTEST_INTERVAL = 0.1


def add_options(parser: CommandParser) -> None:
    """Add the options of ``tail``."""
    add_filters(parser)
    parser.add_argument("--limit", type=int, default=20, help="at most this many (20)")
    parser.add_argument("-f", "--follow", action="store_true", help="continue until Ctrl-C")
    parser.add_argument(
        "--interval", type=float, default=1.0, metavar="SECONDS", help="between two reads (1)"
    )


def tail(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the latest executions, oldest first, then every change."""
    if options["follow"] and options["json"]:
        raise wrong_use("--json", "a stream has no one document; use --jsonl")
    if options["interval"] < _SHORTEST_INTERVAL:
        raise wrong_use("--interval", f"at least {_SHORTEST_INTERVAL} seconds")
    now = database_now()
    tenant_id = get_tenant(options["tenant"]).id if options["tenant"] is not None else None
    changes = Changes(tenant_id, now)
    changes.read()  # before the rows: a change during their read is printed again, not lost
    rows = chosen(options)
    latest = rows.scheduled_between(now - _WINDOW, now).order_by("-id")
    page = list(latest[: max(0, options["limit"])])[::-1]
    documents = documents_of(page)
    if options["jsonl"]:
        for document in documents:
            command.emit_line(document)
    else:
        lines = lines_of(command, documents, wide=options["wide"])
        command.emit(options, {"executions": documents}, lines)
    if options["follow"]:
        follow(command, options, changes, rows, wait_for)


class Changes:
    """The executions that have moved since the last read."""

    def __init__(self, tenant_id: UUID | None, start: datetime) -> None:
        self._tenant_id = tenant_id
        self._start = start
        self._known: set[UUID] = set()

    def read(self) -> tuple[list[UUID], bool]:
        """Return the ids of executions that moved, and whether there were more than are read."""
        low = first_id_at(self._start - _LOOK_BACK)
        events = Event.objects.filter(id__gte=low, name__startswith=_OF_EXECUTIONS)
        if self._tenant_id is not None:
            events = events.filter(tenant_id=self._tenant_id)
        self._start = database_now()
        rows = events.order_by("-id").values_list("id", "subject_id", "subjects")[: _MOST + 1]
        known: set[UUID] = set()
        moved: list[UUID] = []  # newest first for now, so that a cut keeps the latest
        count = 0
        for event, subject, subjects in rows:
            batch = (subjects or [])[::-1] if subject is None else [subject]
            count += len(batch)
            known.add(event)
            if event not in self._known:
                moved += batch
        self._known = known
        latest = moved[: _MOST + 1] if count > _MOST else moved
        return list(dict.fromkeys(reversed(latest))), count > _MOST


def follow(
    command: PunctualCommand,
    options: Mapping[str, Any],
    changes: Changes,
    rows: ExecutionQuerySet,
    wait: Callable[[float], None],
) -> None:
    """Print every execution that moves, until the command is interrupted."""
    while True:
        wait(options["interval"])
        moved, overrun = changes.read()
        for page in _pages(rows, moved):
            _print(command, options, page)
        if overrun:
            command.note(f"more than {_MOST} changes at once; not all are shown")


def _pages(rows: ExecutionQuerySet, ids: Sequence[UUID]) -> Iterator[list[Execution]]:
    for start in range(0, len(ids), 500):
        yield list(rows.filter(id__in=ids[start : start + 500]).order_by("id"))


def _print(command: PunctualCommand, options: Mapping[str, Any], page: Sequence[Execution]) -> None:
    documents = documents_of(page)
    if options["jsonl"]:
        for document in documents:
            command.emit_line(document)
        return
    for line in lines_of(command, documents, wide=options["wide"])[1:]:
        command.stdout.write(line)
    command.stdout.flush()
