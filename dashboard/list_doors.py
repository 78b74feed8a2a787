"""The same list by a call of the API and by a command, and its columns and files.

A page shows both beside the list. They name the same rows in the same order as the page that is
shown; where one cannot, it is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from api.list_pages import COLUMNS, ORDERS, SHOWN, without_place
from dashboard.access import ConsoleRequest
from dashboard.chosen_rows import acts_on_all
from dashboard.listing import PAGE_ROWS
from insight.list_orders import leaves_out_rows
from shared.conf import conf
from shared.instants import format_instant
from tenants.choices import SavedList

_PATHS = {
    SavedList.EXECUTIONS: "/v1/executions",
    SavedList.TASKS: "/v1/tasks",
    SavedList.DEAD_LETTERS: "/v1/dlq",
}
_COMMANDS = {
    SavedList.EXECUTIONS: "executions list",
    SavedList.TASKS: "tasks list",
    SavedList.DEAD_LETTERS: "dlq list",
}
#: Parameter of the call -> option of the command, where they are called otherwise.
_OPTIONS = {"error_signature": "signature", "resolution": "resolved-as"}
#: Parameters of the page that filter, in the order of the call.
_FILTERS = {
    SavedList.EXECUTIONS: (
        *("since", "until", "status", "task", "series", "concurrency_key", "due", "ended", "q"),
        "filter",
    ),
    SavedList.TASKS: ("status", "type", "label", "owner", "destination", "q", "filter"),
    SavedList.DEAD_LETTERS: ("task", "error_signature", "resolution", "q", "filter"),
}


#: The orders of calls and commands unless asked.
_USUAL = {"executions": "-id", "tasks": "-created_at", "dead_letters": "-created_at"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a list offers, and whether it is shown."""

    name: str
    label: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Look:
    """How a list is shown, and the other doors to its rows."""

    columns: tuple[Column, ...]
    offered: tuple[Column, ...]
    is_compact: bool
    #: What the form of the columns keeps of the address.
    kept: tuple[tuple[str, str], ...]
    #: The address of the list's files, and their query.
    file: str
    query: str
    call: str
    command: str
    #: Whether a bulk job can take all rows of the list.
    acts_on_all: bool
    #: Whether rows without a value in the column that sorts the list are left out.
    leaves_out: bool


def look_of(
    request: ConsoleRequest,
    of: str,
    query: Mapping[str, Any],
    *,
    now: datetime,
    since: datetime | None = None,
) -> Look:
    """Return the look of a list now; ``since`` is the beginning of its window."""
    wanted = query.get("columns") or SHOWN.get(of, ())
    offered = COLUMNS.get(of, {})
    in_order = [*dict.fromkeys(name for name in wanted), *(n for n in offered if n not in wanted)]
    columns = tuple(Column(name, offered[name], name in wanted) for name in in_order)
    parts = without_place(request.GET.urlencode())
    saved = request.GET.get("saved", "")
    kept = [part for part in parts if part[0] != "columns"] + ([("saved", saved)] if saved else [])
    filters = [] if _has_no_call(of, query) else _filters(of, {**query, "since": since})
    return Look(
        columns=tuple(one for one in columns if one.shown),
        offered=columns,
        is_compact=query["density"] == "compact",
        kept=tuple(kept),
        file=reverse(f"dashboard:{of}_file"),
        query=urlencode(parts),
        acts_on_all=acts_on_all(of, urlencode(parts), now),
        leaves_out=leaves_out_rows(ORDERS[of][query["ordering"]]),
        call="" if _has_no_call(of, query) else _call(of, query, filters),
        command="" if _has_no_call(of, query) else _command(request, of, query, filters),
    )


def _has_no_call(of: str, query: Mapping[str, Any]) -> bool:
    """Return whether no call has these rows: resolved letters without those put aside."""
    if of != SavedList.DEAD_LETTERS:
        return False
    return bool(query["state"] == "resolved" and not query["resolution"])


def _filters(of: str, query: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in _FILTERS[SavedList(of)]:
        value = query[name]
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one != "":
                text = format_instant(one) if isinstance(one, datetime) else str(one)
                found.append((name, text))
    if of == SavedList.DEAD_LETTERS:
        if query["state"] == "open":
            found.insert(0, ("resolved", "false"))
        elif query["state"] == "archived" and not query["resolution"]:
            found.append(("resolution", "archived"))
    return found


def _is_grouped(of: str, query: Mapping[str, Any]) -> bool:
    return bool(
        of == SavedList.DEAD_LETTERS
        and query["view"] == "groups"
        and query["state"] == "open"
        and not query["error_signature"]
    )


def _call(of: str, query: Mapping[str, Any], filters: Sequence[tuple[str, str]]) -> str:
    asked = [*filters, ("limit", str(query["limit"]))]
    if query["ordering"] not in (None, _USUAL[of]):
        asked.append(("ordering", query["ordering"]))
    if _is_grouped(of, query):
        asked.append(("group_by", "error_signature"))
    # Quoted as one word: text from a link must not run in the shell that it is pasted into.
    url = f"{conf().public_url.rstrip('/')}{_PATHS[SavedList(of)]}?{urlencode(asked)}"
    return f"curl -H 'Authorization: Bearer …' {shlex.quote(url)}"


def _command(
    request: ConsoleRequest, of: str, query: Mapping[str, Any], filters: Sequence[tuple[str, str]]
) -> str:
    words = ["dlq groups"] if _is_grouped(of, query) else [_COMMANDS[SavedList(of)]]
    options: dict[str, list[str]] = {"tenant": [str(request.visitor.tenant.pk)]}
    for name, value in filters:
        if name == "resolved":
            continue  # the command shows open letters unless asked
        options.setdefault(_OPTIONS.get(name, name.replace("_", "-")), []).append(value)
    if of == SavedList.EXECUTIONS and not ({"since", "due", "ended"} & set(options)):
        # Without a beginning the command looks at one day.
        options["since"] = ["1970-01-01T00:00:00Z"]
    if query["ordering"] not in (None, _USUAL[of]):
        options["ordering"] = [query["ordering"]]
    options["limit"] = [str(query["limit"] or PAGE_ROWS)]
    for name, values in options.items():
        if len(values) == 1 and values[0].startswith("-"):
            words.append(f"--{name}={shlex.quote(values[0])}")
        else:
            words.append(" ".join([f"--{name}", *(shlex.quote(value) for value in values)]))
    return f"manage.py {' '.join(words)}"
