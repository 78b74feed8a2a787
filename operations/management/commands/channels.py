"""``manage.py channels``: where alerts go besides members, a webhook or a chat or paging service.

A URL is read from standard input or a file, never from the command line, which every account of
the machine can read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from notifications.choices import ALERT_KINDS, ChannelKind
from notifications.models import AlertChannel
from notifications.presentation import present_channel
from notifications.services import channels as services
from notifications.services.channel_sending import send_channel_trial
from notifications.transports.chat import MAX_URL_LENGTH
from operations.files import read_url
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import FAILED, PunctualCommand, VerbCommand, shown, table, with_former_names
from shared.exceptions import NotFound

_COLUMNS = ("name", "service", "host", "kinds", "rules", "last_sent_at", "error")


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    found = [present_channel(row) for row in services.list_channels(tenant.id)]
    lines = table(_COLUMNS, map(_row, found))
    command.emit(options, {"channels": found, "total": len(found)}, lines)


def _show(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    _emit(command, options, _named(options))


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    body = {
        "name": options["name"],
        "kind": options["kind"],
        "url": read_url(options["file"], MAX_URL_LENGTH),
    }
    with transaction.atomic(durable=True):
        made = services.create_channel(tenant.id, body | _heard(options), actor=COMMAND)
    _emit(command, options, made)


def _change(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    channel = _named(options)
    body = _heard(options)
    if options["rename"] is not None:
        body["name"] = options["rename"]
    if options["new_url"]:
        body["url"] = read_url(options["file"], MAX_URL_LENGTH)
    with transaction.atomic(durable=True):
        changed = services.change_channel(channel.tenant_id, channel.pk, body, actor=COMMAND)
    _emit(command, options, changed)


def _test(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    channel = _named(options)
    trial = send_channel_trial(channel.tenant_id, channel.pk, actor=COMMAND, limited=False)
    document = {
        "channel": channel.name,
        "sent": trial.sent,
        "status": trial.status,
        "answer": trial.answer,
        "error": trial.error or None,
    }
    if not trial.sent:
        command.emit(options, document, [f"not sent: {shown(trial.error, 300)}"])
        command.leave(FAILED)
    said = f": {shown(trial.answer, 200)}" if trial.answer else ""
    command.emit(options, document, [f"sent; the answer was HTTP {trial.status}{said}"])


def _remove(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    channel = _named(options)
    command.confirm(options, f"Remove the channel {shown(channel.name)}?")
    with transaction.atomic(durable=True):
        services.remove_channel(channel.tenant_id, channel.pk, actor=COMMAND)
    lines = [f"removed the channel {shown(channel.name)}"]
    command.emit(options, {"removed": str(channel.pk)}, lines)


def _named(options: Mapping[str, Any]) -> AlertChannel:
    tenant = chosen_tenant(options["tenant"])
    found = services.list_channels(tenant.id).filter(name=options["name"]).first()
    if found is None:
        raise NotFound("There is no such channel.")
    return found


def _heard(options: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if options["kinds"] is not None:
        body["kinds"] = options["kinds"]
    if options["rules"] is not None:
        body["rules"] = [str(rule) for rule in options["rules"]]
    if options["after"] is not None:
        body["after_seconds"] = options["after"]
    return body


def _emit(command: PunctualCommand, options: Mapping[str, Any], channel: AlertChannel) -> None:
    document = present_channel(channel)
    command.emit(options, document, _lines(document))


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    kinds, rules = len(one["kinds"]), len(one["rules"])
    named = (one["name"], one["service"], one["host"] or "-")
    return *named, kinds, rules, one["last_sent_at"] or "-", shown(one["error"] or "-", 80)


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for key in ("id", "name", "kind", "service", "host", "after_seconds", "version", "error"):
        value = document[key]
        yield f"{key.replace('_', ' '):<13} {shown(str(value)) if value is not None else '-'}"
    yield f"{'kinds':<12} {', '.join(document['kinds']) or '-'}"
    for rule in document["rules"]:
        yield f"{'rule':<12} {rule['id']} {shown(rule['name'], 60)}"


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", help="the channel's name")
    _add_tenant(parser)


def _add_heard(parser: CommandParser) -> None:
    parser.add_argument(
        "--kinds",
        nargs="*",
        choices=ALERT_KINDS,
        metavar="KIND",
        help="the kinds of alerts that it gets; without a value, none of them",
    )
    parser.add_argument(
        "--rules",
        nargs="*",
        type=UUID,
        metavar="ID",
        help="own rules whose alerts it gets besides; the given ones replace the stored ones",
    )
    parser.add_argument(
        "--after",
        type=int,
        metavar="SECONDS",
        help="for escalation: only alerts that were not acknowledged for this long; 0 for all",
    )
    parser.add_argument(
        "--file", metavar="FILE", help="the file with the URL, in place of standard input"
    )


def _add_create_options(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("--kind", required=True, choices=ChannelKind.values, help="the kind")
    _add_heard(parser)


def _add_change_options(parser: CommandParser) -> None:
    _add_name(parser)
    with_former_names(
        parser.add_argument(
            "--name", "--rename", dest="rename", metavar="NAME", help="another name"
        )
    )
    parser.add_argument(
        "--new-url", action="store_true", help="replace the URL; reads it as create does"
    )
    _add_heard(parser)


class Command(VerbCommand):
    """List, show, create, change, test and remove channels."""

    help = "Where alerts go besides members: webhooks, chat and paging services."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("list", "list channels by name", ("channels list",), _list, _add_tenant),
        Verb("show", "show one channel", ("channels show on-call",), _show, _add_name),
        Verb(
            "create",
            "add a channel; reads its URL from standard input",
            ("channels create on-call --kind chat < url.txt",),
            _create,
            _add_create_options,
        ),
        Verb(
            "change",
            "change what a channel gets, its name or its URL",
            ("channels change on-call --kinds final_failure did_not_run",),
            _change,
            _add_change_options,
        ),
        Verb(
            "test",
            "send a test message now and print the answer",
            ("channels test on-call",),
            _test,
            _add_name,
        ),
        Verb(
            "remove",
            "remove a channel, with its entries in the delivery log",
            ("channels remove on-call --yes",),
            _remove,
            _add_name,
            dangerous=True,
        ),
    )
