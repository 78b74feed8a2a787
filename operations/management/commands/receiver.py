"""``manage.py receiver``: a tenant's address at the built-in test receiver, and what arrived there.

Exit codes as everywhere: 0 done, 2 wrong use, 3 no receiver runs here, 5 it does not answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.triggering import receiver_requests
from operations.payload_readings import note_shown
from operations.tenancy import chosen_tenant
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table, wrong_use

_MOST_LISTED = 1000


def _show(command: Any, options: Mapping[str, Any]) -> None:
    url = receiver_requests.required_address_of(chosen_tenant(options["tenant"]).id)
    command.emit(options, {"url": url}, [url])


def _requests(command: Any, options: Mapping[str, Any]) -> None:
    if not 1 <= options["limit"] <= _MOST_LISTED:
        raise wrong_use("--limit", f"give a number from 1 to {_MOST_LISTED}.")
    names = ("path", "webhook_id", "limit")
    query = {name: options[name] for name in names if options[name] is not None}
    tenant = chosen_tenant(options["tenant"])
    found = receiver_requests.received(tenant.id, query)
    if options["json"] and found["requests"]:
        note_shown("receiver", [{"id": str(tenant.id), "tenant_id": str(tenant.id)}])
    command.emit(options, found, _lines(found["requests"]))


def _forget(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    receiver_requests.forget(tenant.id)
    command.emit(options, {"forgotten": tenant.name}, [f"forgot the requests of {tenant.name}"])


def _lines(requests: list[dict[str, Any]]) -> Iterator[str]:
    rows = [
        (one["received_at"], one["method"], shown(one["path"]), one["status"] or "none")
        for one in requests
    ]
    yield from table(("received at", "method", "path", "answer"), rows)


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_filter(parser: CommandParser) -> None:
    _add_tenant(parser)
    parser.add_argument("--path", help="only requests of this path, such as /ok")
    parser.add_argument("--webhook-id", metavar="ID", help="only requests of an execution")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many (20)")


class Command(VerbCommand):
    """Show a tenant's address, and list and forget what arrived below it."""

    help = "The built-in test receiver as a tenant has it."
    verbs = (
        Verb(
            "show",
            "print the tenant's own address",
            ("receiver show", "receiver show --tenant demo"),
            _show,
            _add_tenant,
        ),
        Verb(
            "requests",
            "list what arrived below the tenant's address, newest first",
            ("receiver requests", "receiver requests --path /ok --json"),
            _requests,
            _add_filter,
        ),
        Verb(
            "forget",
            "forget what arrived below the tenant's address",
            ("receiver forget",),
            _forget,
            _add_tenant,
        ),
    )
