"""The rows of a list by the query of its page: for the page itself, its files and bulk jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from django.db.models import QuerySet
from django.http import QueryDict

from api.list_pages import PARAMETERS
from api.protocol.query import read_query
from dashboard.list_doors import since_of
from executions.bulk.backfill_steps import executions_made_by
from executions.models import DeadLetter, Execution
from executions.querysets import DeadLetterQuerySet, ExecutionQuerySet
from insight.list_filters import with_bounds
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.models import Task
from tenants.choices import SavedList

#: Parameters that choose no rows.
_OF_LOOKS = {"columns", "density", "view", "saved"}
#: Filters of executions that bulk jobs know.
_OF_BULK = {"status", "task", "since", "until", "q", "window"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of a list, in which order, and in parts that an index each serves."""

    rows: QuerySet[Any]
    order: tuple[str, ...]
    parts: Sequence[QuerySet[Any]] = ()


def rows_of(of: str, tenant: UUID, query: Mapping[str, Any], now: datetime) -> Chosen:
    """Return the rows that a list's page shows for these parameters."""
    if of == SavedList.TASKS:
        return Chosen(Task.objects.for_tenant(tenant).filtered(query), ("-created_at", "-id"))
    if of == SavedList.DEAD_LETTERS:
        return Chosen(letters_of(tenant, query), ("-created_at", "-id"))
    found: ExecutionQuerySet = Execution.objects.for_tenant(tenant)
    order: tuple[str, ...] = ("-id",)
    if query["series"] is not None:
        # All executions of a backfill, without a window, in the order of their nominal times.
        found, order = executions_made_by(tenant, query["series"]), ("-scheduled_for", "-id")
    wanted = with_bounds({**query, "since": since_of(query, now)}, now)
    return Chosen(found.filtered(wanted), order, found.parts(tenant, wanted))


def letters_of(tenant: UUID, query: Mapping[str, Any]) -> DeadLetterQuerySet:
    """Return the dead letters that the list shows."""
    letters = DeadLetter.objects.for_tenant(tenant)
    narrowing = ("task", "error_signature", "q", "resolution")
    found = letters.filtered({name: query[name] for name in narrowing})
    found = found.filter(resolved=query["state"] != "open")
    if query["state"] == "archived":
        return found.filter(resolution="archived")
    return found.exclude(resolution="archived") if query["state"] == "resolved" else found


def bulk_filters(kind: str, text: str, now: datetime) -> dict[str, Any]:
    """Return the filters of a bulk job over all rows of a list; raise InvalidInput.

    A list by what bulk jobs cannot filter is refused, as is a list of resolved letters.
    """
    if kind not in PARAMETERS:
        _refuse("Choose the rows one by one.")
    given = QueryDict(mutable=True)
    for name, value in parse_qsl(text):
        if name in PARAMETERS[kind]:
            given.appendlist(name, value)
    query = read_query(given, PARAMETERS[kind])
    wanted = {name: query[name] for name in given if name not in _OF_LOOKS and query[name]}
    if kind == SavedList.EXECUTIONS:
        unknown = set(wanted) - _OF_BULK
        wanted["since"] = since_of(query, now)
        wanted.pop("window", None)
    elif kind == SavedList.TASKS:
        unknown = set(wanted) & {"destination"}
    else:
        unknown = {"state"} if wanted.pop("state", "open") != "open" else set()
    if unknown:
        names = ", ".join(sorted(unknown))
        _refuse(f"A bulk job cannot choose by {names}: choose rows one by one, or another filter.")
    return {name: _as_asked(value) for name, value in wanted.items() if value is not None}


def _as_asked(value: Any) -> Any:
    """Return a value as a bulk job is asked for it, and as its page shows it."""
    if isinstance(value, datetime):
        return format_instant(value)
    return str(value) if isinstance(value, UUID) else value


def _refuse(message: str) -> None:
    raise InvalidInput([FieldError("?all", "not_supported", message)], message)
