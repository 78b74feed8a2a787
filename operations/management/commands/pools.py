"""``manage.py pools``: the pools that a tenant's workers lease from.

Exit codes as everywhere: 0 done, 2 wrong use, 3 not found, 4 a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.external.pools import change_pool, delete_pool, get_pool, list_pools
from insight.presentation.pools import present_pool
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table, wrong_use

_NO_LIMIT = "none"


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    documents = [present_pool(view) for view in list_pools(tenant.id)]
    command.emit(options, {"pools": documents}, _list_lines(documents))


def _show(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    document = present_pool(get_pool(tenant.id, options["name"]))
    command.emit(options, document, _show_lines(document))


def _set(command: Any, options: Mapping[str, Any]) -> None:
    changes: dict[str, Any] = {}
    if options["paused"] is not None:
        changes["paused"] = options["paused"] == "yes"
    if options["max_in_flight"] is not None:
        changes["max_in_flight"] = _limit(options["max_in_flight"])
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        view = change_pool(tenant.id, options["name"], changes, actor=COMMAND)
    document = present_pool(view)
    command.emit(options, document, _show_lines(document))


def _delete(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    name = options["name"]
    get_pool(tenant.id, name)
    command.confirm(options, f"Delete the pool {name}?")
    with transaction.atomic(durable=True):
        delete_pool(tenant.id, name, actor=COMMAND)
    command.emit(options, {"deleted": name}, [f"deleted the pool {name}"])


def _limit(text: str) -> int | None:
    if text == _NO_LIMIT:
        return None
    if not text.isdecimal():
        raise wrong_use("--max-in-flight", f"give a whole number, or {_NO_LIMIT!r}")
    return int(text[:12])


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", help="the pool's name")
    _add_tenant(parser)


def _add_set_options(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("--paused", choices=("yes", "no"), help="whether it leases nothing")
    parser.add_argument(
        "--max-in-flight", metavar="N", help=f"leases at a time; {_NO_LIMIT} for no limit"
    )


class Command(VerbCommand):
    """List, show, change and delete pools."""

    help = "Pools that workers of a tenant lease work from."
    verbs = (
        Verb("list", "list pools by name", ("pools list",), _list, _add_tenant),
        Verb(
            "show",
            "show a pool: waiting and leased executions, and its workers",
            ("pools show batch-etl",),
            _show,
            _add_name,
        ),
        Verb(
            "set",
            "pause or limit a pool; a missing one is made",
            ("pools set batch-etl --max-in-flight 20", "pools set batch-etl --paused yes"),
            _set,
            _add_set_options,
        ),
        Verb(
            "delete",
            "delete a pool that no task names",
            ("pools delete batch-etl --yes",),
            _delete,
            _add_name,
            dangerous=True,
        ),
    )


def _list_lines(documents: list[dict[str, Any]]) -> list[str]:
    rows = [
        (
            one["name"],
            "paused" if one["paused"] else "open",
            one["depth"],
            (one["oldest_due_at"] or "-")[:19].replace("T", " "),
            f"{one['in_flight']}/{one['max_in_flight'] or '-'}",
            "?" if one["live_workers"] is None else one["live_workers"],
        )
        for one in documents
    ]
    return list(table(("pool", "state", "due", "oldest (UTC)", "in flight", "workers"), rows))


def _show_lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        text = "-" if value is None else str(value)
        yield f"{name.replace('_', ' '):<16} {shown(text)}"
