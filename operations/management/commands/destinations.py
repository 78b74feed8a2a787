"""``manage.py destinations``: the hosts that webhooks call, their limits and circuits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.destinations import limits
from executions.destinations.limits import Shown
from insight.presentation.destinations import present_destination
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table, wrong_use
from tenants.models import Tenant

_HOST_WIDTH = 40
_NO_LIMIT = "none"


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    filters = {"q": options["q"], "limited": True if options["limited"] else None}
    found = limits.list_destinations(tenant.id, filters, limit=max(0, options["limit"]))
    documents = [_document(tenant, one) for one in found]
    lines = _list_lines(documents, command.paint, wide=options["wide"])
    command.emit(options, {"destinations": documents}, lines)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    found = _document(tenant, limits.get_destination(tenant.id, options["host"]))
    lines = [f"{name.replace('_', ' '):16}{_word(value)}" for name, value in found.items()]
    command.emit(options, found, lines)


def _set(command: Any, options: Mapping[str, Any]) -> None:
    changes: dict[str, Any] = {}
    if options["max_in_flight"] is not None:
        changes["max_in_flight"] = _limit("--max-in-flight", options["max_in_flight"], int)
    if options["rate"] is not None:
        changes["rate_per_second"] = _limit("--rate", options["rate"], float)
    if options["breaker"] is not None:
        changes["breaker"] = options["breaker"] == "on"
    if not changes:
        raise wrong_use("--max-in-flight", "give this, --rate or --breaker")
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        found = limits.change_limits(tenant.id, options["host"], changes, actor=COMMAND)
    document = _document(tenant, found)
    lines = [f"{shown(found.host)}: {_limits(document)}"]
    command.emit(options, document, lines)


def _reset(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    command.confirm(options, f"Close the circuit of {shown(options['host'])}?")
    with transaction.atomic(durable=True):
        found = limits.reset_circuit(tenant.id, options["host"], actor=COMMAND)
    lines = [f"the circuit of {shown(found.host)} is {_word(found.circuit)}"]
    command.emit(options, _document(tenant, found), lines)


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_list_options(parser: CommandParser) -> None:
    _add_tenant(parser)
    parser.add_argument("--q", metavar="TEXT", help="only hosts that contain it")
    parser.add_argument("--limited", action="store_true", help="only destinations with limits")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full hosts")


def _add_host(parser: CommandParser) -> None:
    parser.add_argument(
        "host", help="the host in any spelling, with its port unless that is 80 or 443"
    )
    _add_tenant(parser)


def _add_set_options(parser: CommandParser) -> None:
    _add_host(parser)
    parser.add_argument("--max-in-flight", metavar="N", help="requests at a time, or none")
    parser.add_argument("--rate", metavar="N", help="starts a second, or none")
    parser.add_argument("--breaker", choices=("on", "off"), help="whether its circuit may open")


class Command(VerbCommand):
    """List destinations, limit them, close their circuits."""

    help = "Destinations: the hosts that webhooks call, their limits and circuits."
    verbs = (
        Verb("list", "list them by host", ("destinations list --wide",), _list, _add_list_options),
        Verb("show", "show one", ("destinations show api.example.com",), _show, _add_host),
        Verb(
            "set",
            "change its limits; a limit that is left out stays",
            (
                "destinations set api.example.com --max-in-flight 10 --rate 50",
                "destinations set api.example.com --rate none --breaker off",
            ),
            _set,
            _add_set_options,
        ),
        Verb(
            "reset",
            "close its circuit; the executions that wait for it continue",
            ("destinations reset api.example.com --yes",),
            _reset,
            _add_host,
            dangerous=True,
        ),
    )


def _limit(option: str, value: str, read: Callable[[str], Any]) -> Any:
    if value == _NO_LIMIT:
        return None
    try:
        return read(value)
    except ValueError as error:
        raise wrong_use(option, f"give a number, or {_NO_LIMIT}") from error


def _document(tenant: Tenant, found: Shown) -> dict[str, Any]:
    return {**present_destination(found), "tenant_id": str(tenant.id)}


def _word(value: Any) -> str:
    return "-" if value is None else str(value)


def _limits(document: Mapping[str, Any]) -> str:
    most, rate = document["max_in_flight"], document["rate_per_second"]
    parts = [f"{most} in flight" if most else "", f"{rate:g} a second" if rate else ""]
    parts.append("" if document["breaker"] else "no breaker")
    return ", ".join(part for part in parts if part) or "no limits"


def _list_lines(
    documents: list[dict[str, Any]], paint: Callable[[str], str], *, wide: bool
) -> Iterator[str]:
    rows = [
        (
            one["host"] if wide else shown(one["host"], _HOST_WIDTH),
            _word(one["circuit"]),
            _word(one["calls"]),
            _word(one["failures"]),
            one["in_flight"],
            one["parked"],
            one["tasks"],
            _limits(one),
        )
        for one in documents
    ]
    columns = ("host", "circuit", "calls", "failures", "in flight", "parked", "tasks", "limits")
    yield from table(columns, rows, paint)
