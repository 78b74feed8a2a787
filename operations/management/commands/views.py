"""``manage.py views``: saved views of the console's lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from operations.tenancy import chosen_tenant, find_member
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.choices import SavedList
from tenants.models import SavedView
from tenants.presentation import present_view
from tenants.services.saved_views import (
    ViewFields,
    create_view,
    get_view,
    list_views,
    remove_view,
    update_view,
)

_COLUMNS = ("id", "list", "name", "whose", "default", "query")
_WIDTH = 36


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant, member = _place(options)
    found = [present_view(view) for view in list_views(tenant, member, options["list"])]
    rows = [
        (
            one["id"],
            one["list"],
            shown(one["name"], _WIDTH),
            "shared" if one["shared"] else "personal",
            "yes" if one["default"] else "no",
            shown(one["query"], _WIDTH),
        )
        for one in found
    ]
    command.emit(options, {"views": found}, table(_COLUMNS, rows))


def _show(command: Any, options: Mapping[str, Any]) -> None:
    tenant, member = _place(options)
    _emit(command, options, get_view(tenant, options["id"], member))


def _create(command: Any, options: Mapping[str, Any]) -> None:
    tenant, member = _place(options)
    fields = {name: options[name] for name in ("list", "name", "query")}
    given = cast(ViewFields, {**fields, **_default(options)})
    with transaction.atomic(durable=True):
        made = create_view(tenant, given, member=member, actor=COMMAND)
    _emit(command, options, made)


def _update(command: Any, options: Mapping[str, Any]) -> None:
    tenant, member = _place(options)
    fields = {name: options[name] for name in ("name", "query") if options[name] is not None}
    given: dict[str, Any] = {**fields, **_default(options)}
    with transaction.atomic(durable=True):
        changed = update_view(
            tenant,
            options["id"],
            cast(ViewFields, given),
            member=member,
            actor=COMMAND,
            expected_version=options["version_seen"],
        )
    _emit(command, options, changed)


def _remove(command: Any, options: Mapping[str, Any]) -> None:
    tenant, member = _place(options)
    found = get_view(tenant, options["id"], member)
    command.confirm(options, f"Remove the saved view {found.name!r}?")
    with transaction.atomic(durable=True):
        remove_view(tenant, found.id, member=member, actor=COMMAND)
    document = {"id": str(found.id), "name": found.name}
    command.emit(options, document, [f"removed {shown(found.name)}"])


def _place(options: Mapping[str, Any]) -> tuple[UUID, int | None]:
    """Return the tenant, and the member of ``--member``."""
    tenant = chosen_tenant(options["tenant"])
    member = options["member"]
    return tenant.id, None if member is None else find_member(tenant, member).pk


def _default(options: Mapping[str, Any]) -> dict[str, bool]:
    return {} if options["default"] is None else {"is_default": options["default"]}


def _emit(command: Any, options: Mapping[str, Any], view: SavedView) -> None:
    document = present_view(view)
    command.emit(options, document, _lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        text = ", ".join(value) if isinstance(value, list) else value
        yield f"{name:<18} {shown(str('-' if text in (None, '') else text))}"


def _add_place(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")
    parser.add_argument("--member", metavar="NAME", help="personal views of this member")


def _add_list_options(parser: CommandParser) -> None:
    _add_place(parser)
    parser.add_argument("--list", choices=SavedList.values, help="only of this list")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", type=UUID, metavar="ID", help="the id of the view")
    _add_place(parser)


def _add_default(parser: CommandParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--default", action="store_true", default=None, help="the list shows it unless asked"
    )
    chosen.add_argument("--not-default", dest="default", action="store_false", help="it does not")


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("list", choices=SavedList.values, metavar="LIST", help="of which list")
    parser.add_argument("name", help="a name for people")
    parser.add_argument("query", help="the query of the list's address")
    _add_place(parser)
    _add_default(parser)


def _add_update_options(parser: CommandParser) -> None:
    _add_id(parser)
    parser.add_argument("--name", help="another name")
    parser.add_argument("--query", help="another query")
    _add_default(parser)
    parser.add_argument(
        "--version-seen", type=int, metavar="N", help="change it only at this version"
    )


class Command(VerbCommand):
    """List, show, save, change and remove saved views."""

    help = "Saved views: names for the console's lists with their filters and columns."
    verbs = (
        Verb(
            "list",
            "list the shared views, with --member that member's own before them",
            ("views list --list executions", "views list --member ada --json"),
            _list,
            _add_list_options,
        ),
        Verb(
            "show",
            "show one view",
            ("views show 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",),
            _show,
            _add_id,
        ),
        Verb(
            "create",
            "save a view that the tenant shares, with --member a personal one",
            (
                "views create executions 'Failed this week' 'status=FAILED&window=7d'",
                "views create tasks Mine 'owner=ada@example.com' --member ada --default",
            ),
            _create,
            _add_create_options,
        ),
        Verb(
            "update",
            "change a view; what is left out stays",
            ("views update 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --name 'Failed today'",),
            _update,
            _add_update_options,
        ),
        Verb(
            "remove",
            "remove a view",
            ("views remove 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --yes",),
            _remove,
            _add_id,
            dangerous=True,
        ),
    )
