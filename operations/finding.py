"""Finding tasks and executions by what operators type: an id, or its end as lists show it.

Commands call it; each read is bounded by the tenant where one is named. It never guesses: the
error for an end that fits several rows names up to five of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db.models import TextField
from django.db.models.functions import Cast

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.querysets import ExecutionQuerySet
from insight.filter_language.conditions import Scope
from insight.filter_language.fields import Vocabulary
from insight.filter_language.terms import Filter, parse
from insight.filter_language.tokens import FilterError
from insight.list_orders import check_order
from shared.commands import shown, wrong_use
from shared.exceptions import NotFound
from tasks.models import Task
from tasks.plain_times.moments import read_moment
from tasks.querysets import TaskQuerySet
from tasks.schedules.zones import UnknownZone, Zone, find_zone
from tenants.services import get_tenant

#: Lists show this many letters of an id.
ID_TAIL = 12
#: An end of fewer letters is a slip, not a choice.
_SHORTEST = 6
_CANDIDATES = 5
#: An execution is found by the end of its id only within this time, because the ledger is large.
_RECENT = timedelta(days=1)
_AHEAD = timedelta(days=1)


def tasks_of(tenant: str | None) -> TaskQuerySet:
    """Return the tasks of the tenant of this name or id, or of all tenants."""
    if tenant is None:
        return Task.objects.filter(deleted_at__isnull=True)
    return Task.objects.for_tenant(get_tenant(tenant).id)


def executions_of(tenant: str | None) -> ExecutionQuerySet:
    """Return the executions of the tenant of this name or id, or of all tenants."""
    if tenant is None:
        return Execution.objects.filter(span_count__isnull=True)
    return Execution.objects.for_tenant(get_tenant(tenant).id)


def find_task(text: str, tenant: str | None = None) -> Task:
    """Return the task of this id, or the only one whose id ends so; raise NotFound."""
    rows = tasks_of(tenant)
    task: Task = find_row(rows, text, "task")
    return task


def find_execution(text: str, tenant: str | None = None) -> Execution:
    """Return the execution of this id, or the only one of the last day whose id ends so."""
    rows = executions_of(tenant)
    now = database_now()
    recent = rows.scheduled_between(now - _RECENT, now + _AHEAD)
    execution: Execution = find_row(rows, text, "execution", among=recent)
    return execution


def moment_option(
    option: str,
    text: str | None,
    *,
    ahead: bool = False,
    zone: str | None = None,
    now: datetime | None = None,
) -> Any:
    """Return the instant that an option gives in words or as RFC 3339, or None for no text.

    ``ahead`` reads a text without a direction (`2h`, `monday 9:00`) as a time to come. Times
    without a zone are in ``zone``, UTC unless given; now is the database's unless given. Raise
    InvalidInput that names the option.
    """
    if text is None:
        return None
    found = zone_option(zone)
    try:
        return read_moment(text, now=now or database_now(), zone=found, ahead=ahead)
    except ValueError as error:
        raise wrong_use(option, str(error)) from error


def zone_option(name: str | None) -> Zone:
    """Return the zone that ``--timezone`` gives, UTC for none; raise InvalidInput."""
    try:
        return find_zone(name or "UTC")
    except UnknownZone as error:
        raise wrong_use("--timezone", str(error)) from error


def add_list_filter(
    parser: CommandParser, example: str, orders: Mapping[str, tuple[str, ...]]
) -> None:
    """Add ``--filter`` and ``--ordering``, as the API's lists have them."""
    parser.add_argument(
        "--filter",
        metavar="TEXT",
        help=f"a text of the filter language: '{example}'",
    )
    parser.add_argument(
        "--ordering",
        metavar="ORDER",
        help=f"{', '.join(name for name in orders if not name.startswith('-'))}; the largest first "
        f"with - in front: --ordering={next(iter(orders))}",
    )


def filter_option(text: str | None, vocabulary: Vocabulary) -> Filter | None:
    """Return the filter that ``--filter`` gives, or None; raise InvalidInput."""
    try:
        return None if text is None else parse(text, vocabulary)
    except FilterError as error:
        raise wrong_use("--filter", str(error)) from error


def order_option(
    name: str | None, orders: Mapping[str, tuple[str, ...]], default: str
) -> tuple[str, ...]:
    """Return the columns of the order that ``--ordering`` gives; raise InvalidInput."""
    try:
        return orders[check_order(name or default, orders)]
    except ValueError as error:
        raise wrong_use("--ordering", str(error)) from error


def scope_of(tenant: str | None) -> Scope:
    """Return the scope of a list of one tenant, by name or id, or of all tenants."""
    return Scope(None if tenant is None else get_tenant(tenant).id, database_now())


def find_row(rows: Any, text: str, noun: str, *, among: Any = None) -> Any:
    """Return the row of this id, or the only one (``among`` these) whose id ends so.

    Raise NotFound, or InvalidInput with the candidates when more than one ends so.
    """
    try:
        found: Sequence[Any] = list(rows.filter(pk=UUID(text)))
    except ValueError:
        found = (
            _ending(rows if among is None else among, text.lower())
            if len(text) >= _SHORTEST
            else []
        )
    if not found:
        raise NotFound(f"There is no {noun} {shown(text, 40)!r}.")
    if len(found) > 1:
        candidates = ", ".join(str(row.id) for row in found[:_CANDIDATES])
        more = ", …" if len(found) > _CANDIDATES else ""
        message = f"more than one {noun} ends with {text!r}: {candidates}{more}"
        raise wrong_use("ID", message)
    return found[0]


def _ending(rows: Any, end: str) -> list[Any]:
    rows = rows.alias(as_text=Cast("id", TextField())).filter(as_text__endswith=end)
    return list(rows.order_by("-id")[: _CANDIDATES + 1])
