"""The parameters of the console's lists whose views can be saved, and reading saved queries.

A list's address holds all of its state, so a saved view is a query of it. Pages read the same
parameters; their place within a list (``cursor``, ``page``, ``limit``) is no part of a view.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict

from api.protocol.lists import ordering
from api.protocol.pagination import LIST_PARAMETERS
from api.protocol.query import Parameter, choice, choices, instant, read_query, text, uuid
from executions.choices import Status
from insight.filter_language.fields import VOCABULARIES
from insight.filter_language.terms import Filter, parse
from insight.filter_language.tokens import MAX_LENGTH, FilterError
from insight.list_filters import DUE, ENDED
from insight.list_orders import DEAD_LETTER_ORDERS, EXECUTION_ORDERS, TASK_ORDERS
from shared.exceptions import FieldError, InvalidInput
from tasks.choices import CONCURRENCY_KEY_LENGTH, TaskStatus
from tasks.limits import DESTINATION_LENGTH, OWNER_LENGTH
from tenants.choices import SavedList

#: Name -> words and length of the windows of the list of executions.
WINDOWS: Mapping[str, tuple[str, timedelta | None]] = {
    "1h": ("last hour", timedelta(hours=1)),
    "24h": ("last 24 hours", timedelta(hours=24)),
    "7d": ("last 7 days", timedelta(days=7)),
    "30d": ("last 30 days", timedelta(days=30)),
    "any": ("any time", None),
}
#: How close the rows of a list stand.
DENSITIES = ("comfortable", "compact")
#: The columns that lists offer; those shown unless an address names others come first.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "executions": {
        "time": "Time",
        "start_delay": "Start delay",
        "duration": "Duration",
        "attempt": "Attempt",
        "http_status": "HTTP status",
        "worker": "Worker",
        "host": "Host",
        "pool": "Pool",
        "trigger": "Trigger",
        "due": "Due",
        "started": "Started",
        "finished": "Finished",
        "error": "Error code",
    },
    "tasks": {
        "schedule": "Schedule",
        "next": "Next fire",
        "runs": "Latest runs",
        "host": "Host",
        "priority": "Priority",
        "owner": "Owner",
        "created": "Created",
        "updated": "Updated",
    },
}
SHOWN: Mapping[str, tuple[str, ...]] = {
    "executions": ("time", "start_delay", "duration", "attempt", "http_status", "worker"),
    "tasks": ("schedule", "next", "runs"),
}
#: List -> its orders, by their names.
ORDERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SavedList.EXECUTIONS: EXECUTION_ORDERS,
    SavedList.TASKS: TASK_ORDERS,
    SavedList.DEAD_LETTERS: DEAD_LETTER_ORDERS,
}
_FILTER = {"filter": text(max_length=MAX_LENGTH)}
_DENSITY = choice(*DENSITIES, default="comfortable")

#: List -> its parameters.
PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    SavedList.EXECUTIONS: {
        "status": choices(*Status.values),
        "task": uuid(),
        "series": uuid(),
        "concurrency_key": text(max_length=CONCURRENCY_KEY_LENGTH),
        "q": text(),
        "since": instant(),
        "until": instant(),
        "window": choice(*WINDOWS, default="24h"),
        "due": choice(*DUE),
        "ended": choice(*ENDED),
        **_FILTER,
        "ordering": ordering(EXECUTION_ORDERS, default=None),
        "columns": choices(*COLUMNS["executions"]),
        "density": _DENSITY,
    },
    SavedList.TASKS: {
        "status": choices(*TaskStatus.values),
        "type": choice("ONE_TIME", "RECURRING"),
        "label": text(),
        "owner": text(max_length=OWNER_LENGTH),
        "destination": text(max_length=DESTINATION_LENGTH),
        "q": text(),
        **_FILTER,
        "ordering": ordering(TASK_ORDERS, default="-created_at"),
        "columns": choices(*COLUMNS["tasks"]),
        "density": _DENSITY,
    },
    SavedList.DEAD_LETTERS: {
        "state": choice("open", "resolved", "archived", default="open"),
        "task": uuid(),
        "resolution": text(max_length=40),
        "error_signature": text(),
        "q": text(),
        "view": choice("groups", "letters", default="groups"),
        **_FILTER,
        "ordering": ordering(DEAD_LETTER_ORDERS, default="-created_at"),
        "density": _DENSITY,
    },
}


def read_saved_query(of: str, given: str) -> str:
    """Return a query as views keep it: without blanks and places; raise InvalidInput.

    It may begin with a question mark. Unknown parameters, and values and filters that the list
    would refuse, are errors of the field ``query``.
    """
    parts = without_place(given)
    if of not in PARAMETERS:
        return urlencode(parts)
    query = QueryDict(mutable=True)
    for name, value in parts:
        query.appendlist(name, value)
    try:
        filter_of(of, read_query(query, PARAMETERS[of]))
    except InvalidInput as error:
        message = " ".join(f"{one.pointer.lstrip('?')}: {one.message}" for one in error.errors)
        raise InvalidInput([FieldError("#/query", "invalid", message)], message) from error
    return urlencode(parts)


def filter_of(of: str, query: Mapping[str, Any]) -> Filter:
    """Return the filter among a list's parameters; raise InvalidInput.

    Pages read it apart from the parameters, because they show a wrong one beside its error.
    """
    try:
        return parse(query["filter"] or "", VOCABULARIES[of])
    except FilterError as error:
        raise InvalidInput([FieldError("?filter", "invalid", str(error))], str(error)) from error


def since_of(query: Mapping[str, Any], now: datetime, *, begins: bool = False) -> datetime | None:
    """Return the beginning of the window of a list of executions; None for any time.

    ``begins``: whether its filter says from when on.
    """
    if begins or query["due"] or query["ended"] or query["series"]:
        found: datetime | None = query["since"]
        return found
    span: timedelta | None = WINDOWS[query["window"]][1]
    return query["since"] or (None if span is None else now - span)


def without_place(query: str) -> list[tuple[str, str]]:
    """Return names and values of a query, without empty values, the place and the view's name."""
    left_out = {*LIST_PARAMETERS, "saved"}
    return [part for part in parse_qsl(query.removeprefix("?")) if part[0] not in left_out]


def names_of(of: str) -> frozenset[str]:
    """Return the names of a list's parameters."""
    return frozenset(PARAMETERS.get(of, {}))
