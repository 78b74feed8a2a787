"""The rows of a list by the query of its page: for the page itself, its files and bulk jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import parse_qsl
from uuid import UUID

from django.db.models import QuerySet
from django.http import QueryDict

from api.list_pages import ORDERS, PARAMETERS, filter_of, since_of
from api.protocol.query import read_query
from executions.bulk.backfill_steps import executions_made_by
from executions.bulk.scope import FILTERS
from executions.models import DeadLetter, Execution
from executions.querysets import DeadLetterQuerySet, ExecutionQuerySet
from insight.filter_language.conditions import Scope, begins, letters_matching, tasks_matching
from insight.filter_language.plain_filters import plain_filters
from insight.filter_language.terms import Filter
from insight.list_filters import narrowed, with_bounds
from insight.list_orders import (
    DEAD_LETTER_ORDERS,
    EXECUTION_ORDERS,
    TASK_ORDERS,
    in_order,
    leaves_out_rows,
)
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.models import Task
from tenants.choices import SavedList

#: Parameters that choose no rows.
_OF_LOOKS = {"columns", "density", "view", "saved", "ordering"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of a list, in which order, and in parts that an index each serves."""

    #: A queryset of the list's own kind.
    rows: Any
    order: tuple[str, ...]
    parts: Sequence[QuerySet[Any]] = ()


def rows_of(
    of: str, tenant: UUID, query: Mapping[str, Any], now: datetime, wanted: Filter | None = None
) -> Chosen:
    """Return the rows that a list's page shows for these parameters; raise InvalidInput.

    ``wanted`` is the filter where the caller has read it. Conditions about tasks are looked up
    here, so this is called within the time of ``insight.list_budget``.
    """
    scope = Scope(tenant, now)
    wanted = filter_of(of, query) if wanted is None else wanted
    if of == SavedList.TASKS:
        order = TASK_ORDERS[query["ordering"]]
        tasks = tasks_matching(Task.objects.for_tenant(tenant).filtered(query), wanted, scope)
        return Chosen(in_order(tasks, order), order)
    if of == SavedList.DEAD_LETTERS:
        letters = letters_matching(letters_of(tenant, query), wanted, scope)
        return Chosen(letters, DEAD_LETTER_ORDERS[query["ordering"]])
    found: ExecutionQuerySet = Execution.objects.for_tenant(tenant)
    if query["series"] is not None:
        found = executions_made_by(tenant, query["series"])
    # All executions of a backfill, without a window, in the order of their nominal times.
    order = EXECUTION_ORDERS[query["ordering"] or ("-scheduled_for" if query["series"] else "-id")]
    since = since_of(query, now, begins=begins(wanted))
    rows, filters = narrowed(found, wanted, with_bounds({**query, "since": since}, now), scope)
    rows = in_order(rows, order)
    return Chosen(rows.filtered(filters), order, rows.parts(tenant, filters))


def letters_of(tenant: UUID, query: Mapping[str, Any]) -> DeadLetterQuerySet:
    """Return the dead letters that the list shows."""
    letters = DeadLetter.objects.for_tenant(tenant)
    narrowing = ("task", "error_signature", "q", "resolution")
    found = letters.filtered({name: query[name] for name in narrowing})
    found = found.filter(resolved=query["state"] != "open")
    if query["state"] == "archived":
        return found.filter(resolution="archived")
    return found.exclude(resolution="archived") if query["state"] == "resolved" else found


def acts_on_all(of: str, text: str, now: datetime) -> bool:
    """Return whether a bulk job can choose all rows of a list by the query of its address."""
    try:
        bulk_filters(of, text, now)
    except InvalidInput:
        return False
    return True


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
    if query["ordering"] and leaves_out_rows(ORDERS[kind][query["ordering"]]):
        _refuse("In this order the list leaves rows out, which a bulk job would take.")
    terms = filter_of(kind, query)
    wanted = {name: query[name] for name in given if name not in _OF_LOOKS and query[name]}
    if wanted.pop("state", "open") != "open":
        _refuse("A bulk job takes open dead letters only.")
    if kind == SavedList.EXECUTIONS:
        wanted["since"] = since_of(query, now, begins=begins(terms))
        wanted.pop("window", None)
    if (said := plain_filters(terms, now)) is not None:
        wanted.pop("filter", None)
        for name, value in said.items():
            wanted[name] = _both(name, wanted.get(name), value)
    # A resolution is of resolved letters, which no list of open ones has.
    unknown = set(wanted) - set(FILTERS[kind]) | set(wanted) & {"resolution"}
    if unknown:
        names = ", ".join(sorted(unknown))
        _refuse(f"A bulk job cannot choose by {names}: choose rows one by one, or another filter.")
    return {name: _as_asked(value) for name, value in wanted.items() if value is not None}


def _both(name: str, parameter: Any, said: Any) -> Any:
    """Return what a parameter and the filter ask for together; raise InvalidInput."""
    if parameter is None or parameter == said:
        return said
    if name in ("since", "until"):
        return max(parameter, said) if name == "since" else min(parameter, said)
    return _refuse(f"The filter and the address choose by {name}: leave one of them out.")


def _as_asked(value: Any) -> Any:
    """Return a value as a bulk job is asked for it, and as its page shows it."""
    if isinstance(value, datetime):
        return format_instant(value)
    return str(value) if isinstance(value, UUID) else value


def _refuse(message: str) -> NoReturn:
    raise InvalidInput([FieldError("?all", "not_supported", message)], message)
