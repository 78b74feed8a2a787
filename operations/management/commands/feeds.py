"""``manage.py feeds``: calendar feeds of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from insight.month.feed import make_feed
from notifications.links import calendar_feed
from operations.tenancy import chosen_tenant, find_member
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.presentation import present_feed
from tenants.services.calendar_feeds import list_feeds, revoke_feed

_COLUMNS = ("id", "name", "member", "filter", "timezone", "last_read_at")
_WIDTH = 36


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant, name = chosen_tenant(options["tenant"]), options["member"]
    found = list_feeds(tenant.id, None if name is None else find_member(tenant, name).pk)
    rows = [
        (
            str(feed.id),
            shown(feed.name, _WIDTH),
            shown(feed.member.user.get_username(), _WIDTH),
            shown(feed.filter or "all tasks", _WIDTH),
            feed.timezone,
            present_feed(feed)["last_read_at"] or "never",
        )
        for feed in found
    ]
    document = {"calendar_feeds": [present_feed(feed) for feed in found]}
    command.emit(options, document, table(_COLUMNS, rows))


def _create(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        made, token = make_feed(
            tenant.id,
            name=options["name"],
            filter_text=options["filter"],
            timezone=options["timezone"],
            member=find_member(tenant, options["member"]).pk,
            actor=COMMAND,
        )
    url = calendar_feed(token)
    command.emit(options, {**present_feed(made), "url": url}, [url])
    command.note("This link is shown once. Anyone who has it can read the feed.")


def _revoke(command: Any, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    command.confirm(options, f"Revoke the calendar feed {options['id']}?")
    with transaction.atomic(durable=True):
        found = revoke_feed(tenant.id, options["id"], actor=COMMAND)
    document = {"id": str(options["id"]), "name": found.name}
    command.emit(options, document, [f"revoked {shown(found.name)}"])


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_list_options(parser: CommandParser) -> None:
    _add_tenant(parser)
    parser.add_argument("--member", metavar="NAME", help="only of this member")


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("name", help="what calendar programs call it")
    parser.add_argument("--member", metavar="NAME", required=True, help="whose feed it is")
    parser.add_argument(
        "--filter",
        default="",
        metavar="TEXT",
        help="only tasks that match a text of the filter language: 'label:team:billing'",
    )
    parser.add_argument(
        "--timezone", default="UTC", metavar="ZONE", help="whose clock decides the days (UTC)"
    )
    _add_tenant(parser)


def _add_revoke_options(parser: CommandParser) -> None:
    parser.add_argument("id", type=UUID, metavar="ID", help="the id of the feed")
    _add_tenant(parser)


class Command(VerbCommand):
    """List, make and revoke calendar feeds."""

    help = "Calendar feeds: secret links by which calendar programs show coming runs."
    verbs = (
        Verb(
            "list",
            "list the feeds of all members, never their links",
            ("feeds list", "feeds list --member ada --json"),
            _list,
            _add_list_options,
        ),
        Verb(
            "create",
            "make a feed of a member and show its link once",
            (
                "feeds create 'Nightly jobs' --member ada --filter 'label:team:billing'",
                "feeds create Everything --member ada --timezone Europe/Berlin",
            ),
            _create,
            _add_create_options,
        ),
        Verb(
            "revoke",
            "revoke a feed: its link works no longer",
            ("feeds revoke 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --yes",),
            _revoke,
            _add_revoke_options,
            dangerous=True,
        ),
    )
