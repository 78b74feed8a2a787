"""``manage.py maintenance``: windows in which alerts are kept and not told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import time
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from executions.loop.clocks import database_now
from notifications.choices import WindowScope
from notifications.presentation import present_window
from notifications.services.maintenance import (
    WindowFields,
    create_window,
    end_window,
    get_window,
    list_windows,
)
from operations.finding import moment_option
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table, wrong_use
from tenants.models import Tenant

_COLUMNS = ("id", "covers", "when", "active_until", "name")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _list(command: Any, options: Mapping[str, Any]) -> None:
    now = database_now()
    found = [present_window(one, now) for one in list_windows(_tenant(options).id)]
    rows = ([one["id"], *_texts(one)] for one in found)
    command.emit(options, {"maintenance_windows": found}, table(_COLUMNS, rows, command.paint))


def _create(command: Any, options: Mapping[str, Any]) -> None:
    start, end = _clocks(options["daily"])
    days = options["weekdays"] or (_DAYS if options["daily"] else ())
    wanted = WindowFields(
        name=options["name"],
        scope=options["scope"],
        value=options["value"],
        begins_at=moment_option("--since", options["since"], ahead=True),
        ends_at=moment_option("--until", options["until"], ahead=True),
        weekdays=[_DAYS.index(day) + 1 for day in days],
        from_time=start,
        to_time=end,
        timezone=options["timezone"],
    )
    with transaction.atomic(durable=True):
        made = create_window(_tenant(options).id, wanted, actor=COMMAND)
    document = present_window(made, database_now())
    command.emit(options, document, _lines(document))


def _end(command: Any, options: Mapping[str, Any]) -> None:
    found = get_window(_tenant(options).id, options["id"])
    with transaction.atomic(durable=True):
        end_window(found.tenant_id, found.id, actor=COMMAND)
    document = {"id": str(found.id), "name": found.name}
    command.emit(options, document, [f"ended {shown(found.name)}"])


def _tenant(options: Mapping[str, Any]) -> Tenant:
    return chosen_tenant(options["tenant"])


def _clocks(text: str | None) -> tuple[time | None, time | None]:
    if text is None:
        return None, None
    try:
        start, end = (time.fromisoformat(part) for part in text.split("-"))
    except ValueError as error:
        raise wrong_use("--daily", "give times like 22:00-02:00") from error
    return start.replace(tzinfo=None), end.replace(tzinfo=None)


def _texts(document: Mapping[str, Any]) -> list[str]:
    covers = f"{document['scope']} {document['value']}".strip()
    when = f"{document['begins_at']} to {document['ends_at']}"
    if document["weekdays"]:
        days = " ".join(_DAYS[day - 1] for day in document["weekdays"])
        when = f"{days} {document['from_time']}-{document['to_time']} {document['timezone']}"
    until = document["active_until"] or "-"
    return [shown(covers, 40), when, until, shown(document["name"], 36)]


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        yield f"{name:<15} {shown(str('-' if value is None else value))}"


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", type=UUID, metavar="ID", help="the id of the window")
    _add_tenant(parser)


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("name", help="a name for people")
    _add_tenant(parser)
    parser.add_argument(
        "--scope", choices=WindowScope.values, default="all", help="which alerts it covers (all)"
    )
    parser.add_argument("--value", default="", help="key:value of the label, or the id")
    parser.add_argument(
        "--since", metavar="TIME", help="begin there: 2h, monday 22:00, or RFC 3339 (now)"
    )
    parser.add_argument("--until", metavar="TIME", help="end by itself: 2h, or RFC 3339")
    parser.add_argument("--daily", metavar="FROM-TO", help="each week instead, such as 22:00-02:00")
    parser.add_argument(
        "--weekdays", nargs="+", choices=_DAYS, help="with --daily: the days on which it begins"
    )
    parser.add_argument(
        "--timezone", "--tz", metavar="ZONE", default="UTC", help="zone of --daily (UTC)"
    )


class Command(VerbCommand):
    """List, make and end maintenance windows."""

    help = "Maintenance windows: alerts are kept meanwhile, and told in one message afterwards."
    verbs = (
        Verb(
            "list",
            "list the windows, newest first",
            ("maintenance list --json",),
            _list,
            _add_tenant,
        ),
        Verb(
            "create",
            "hold back the messages about alerts, once or each week",
            (
                'maintenance create "Database upgrade" --until 2h',
                'maintenance create "Nightly load" --daily 01:00-03:00 --tz Europe/Berlin'
                " --scope label --value team:data",
            ),
            _create,
            _add_create_options,
        ),
        Verb(
            "end",
            "end a window, a weekly one for good; what it held back is told",
            ("maintenance end 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",),
            _end,
            _add_id,
        ),
    )
