"""``manage.py concurrency``: the keys that tasks share, and who has their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.gate.key_list import list_keys
from insight.presentation.concurrency_keys import present_key
from operations.tenancy import chosen_tenant
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table

_KEY_WIDTH = 40


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    found = list_keys(tenant.id, q=options["q"], limit=max(0, options["limit"]))
    documents = [{**present_key(one), "tenant_id": str(tenant.id)} for one in found]
    lines = _list_lines(documents, command.paint, wide=options["wide"])
    command.emit(options, {"concurrency_keys": documents}, lines)


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")
    parser.add_argument("--q", metavar="TEXT", help="only keys that contain it")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full keys and all holders")


class Command(VerbCommand):
    """List concurrency keys."""

    help = "Concurrency keys: what runs under a key that tasks share, and how much waits for it."
    verbs = (
        Verb(
            "list",
            "list the keys that have open work, by name",
            ("concurrency list --wide",),
            _list,
            _add_list_options,
        ),
    )


def _list_lines(
    documents: list[dict[str, Any]], paint: Callable[[str], str], *, wide: bool
) -> Iterator[str]:
    rows = [
        (
            shown(one["key"]) if wide else shown(one["key"], _KEY_WIDTH),
            one["in_use"],
            one["waiting"],
            one["waiting_since"] or "-",
            _holders(one["holders"], wide=wide),
        )
        for one in documents
    ]
    yield from table(("key", "in use", "waiting", "since", "in use by"), rows, paint)


def _holders(holders: list[dict[str, Any]], *, wide: bool) -> str:
    named = holders if wide else holders[:1]
    words = [
        f"{shown(holder['task_name'] or holder['task_id'], None if wide else 30)}"
        f" {holder['execution_id']}"
        for holder in named
    ]
    more = len(holders) - len(named)
    return ", ".join([*words, *([f"{more} more"] if more else [])]) or "-"
