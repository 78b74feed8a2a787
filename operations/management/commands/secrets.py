"""``manage.py secrets``: named secrets of a tenant, written and never shown.

A value is read from standard input or a file, never from the command line, which every account of
the machine can read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from getpass import getpass
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db import transaction

from operations.files import read_bytes
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, shown, table, wrong_use
from shared.exceptions import NotFound
from tasks.limits import SECRET_BYTES
from tasks.models import NamedSecret
from tasks.named_secrets import services, uses
from tasks.named_secrets.presentation import present_secret


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    rows = list(services.list_secrets(tenant.id))
    counts = uses.counts_of([row.id for row in rows])
    found = [present_secret(row, counts.get(row.id, 0)) for row in rows]
    lines = table(("name", "may go to", "tasks", "written at"), map(_row, found))
    command.emit(options, {"secrets": found, "total": len(found)}, lines)


def _show(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    _emit(command, options, services.get_secret(tenant.id, options["name"]))


def _set(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant, name = chosen_tenant(options["tenant"]), options["name"]
    bindings = {key: given for key in ("hosts", "commands") if (given := options[key]) is not None}
    exists = _exists(tenant.id, name)
    body: dict[str, Any] = dict(bindings)
    if options["keep_value"] and not exists:
        raise NotFound("There is no such secret. --keep-value changes one that is there.")
    if not options["keep_value"]:
        body["value"] = _value(options["file"])
    with transaction.atomic(durable=True):
        if exists:
            secret = services.change_secret(tenant.id, name, body, actor=COMMAND)
        else:
            secret = services.create_secret(tenant.id, {"name": name, **body}, actor=COMMAND)
    _emit(command, options, secret)


def _remove(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant, name = chosen_tenant(options["tenant"]), options["name"]
    services.get_secret(tenant.id, name)
    command.confirm(options, f"Remove the secret {shown(name)}?")
    with transaction.atomic(durable=True):
        services.remove_secret(tenant.id, name, actor=COMMAND)
    command.emit(options, {"removed": name}, [f"removed the secret {shown(name)}"])


def _exists(tenant_id: Any, name: str) -> bool:
    try:
        services.get_secret(tenant_id, name)
    except NotFound:
        return False
    return True


def _value(path: str | None) -> str:
    """Return the value from the file, the terminal or standard input, without a last line end."""
    if path is not None:
        try:
            text = read_bytes(path, SECRET_BYTES + 2).decode()
        except UnicodeDecodeError as error:
            raise wrong_use("--file", "the value is no text in UTF-8") from error
    else:
        text = getpass("Value: ") if sys.stdin.isatty() else sys.stdin.read(SECRET_BYTES + 2)
    return text.removesuffix("\n").removesuffix("\r")


def _emit(command: PunctualCommand, options: Mapping[str, Any], secret: NamedSecret) -> None:
    count = uses.counts_of([secret.id]).get(secret.id, 0)
    users = uses.users_of([secret.id]).get(secret.id, [])
    document = present_secret(secret, count, users)
    command.emit(options, document, _lines(document))


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    places = [*one["hosts"], *(f"command {name}" for name in one["commands"])]
    return one["name"], ", ".join(places), one["tasks"], one["written_at"]


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for key in ("name", "hosts", "commands", "version", "tasks", "changed_by", "written_at"):
        value = document[key]
        text = ", ".join(value) if isinstance(value, list) else str(value)
        yield f"{key.replace('_', ' '):<12} {shown(text) or '-'}"
    for user in document["used_by"]:
        yield f"used by      {user['kind']} {user['id']} {shown(user['name'], 60)}"


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", help="the secret's name")
    _add_tenant(parser)


def _add_set_options(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument(
        "--host",
        dest="hosts",
        action="append",
        metavar="HOST",
        help="where webhooks may take it: api.example.com, *.example.com, http://host:port, or *; "
        "repeat it for more; the given ones replace the stored ones",
    )
    parser.add_argument(
        "--command",
        dest="commands",
        action="append",
        metavar="NAME",
        help="a command whose environment may have it, or *; repeat it for more",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--file", metavar="FILE", help="the file with the value, in place of standard input"
    )
    source.add_argument(
        "--keep-value", action="store_true", help="change only where it may go, not the value"
    )


class Command(VerbCommand):
    """List, show, set and remove named secrets."""

    help = "Named secrets of a tenant, which targets use as {{ secrets.name }}."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("list", "list secrets by name", ("secrets list",), _list, _add_tenant),
        Verb(
            "show",
            "show where a secret may go and which tasks use it",
            ("secrets show billing-token",),
            _show,
            _add_name,
        ),
        Verb(
            "set",
            "write a secret, or replace its value; reads the value from standard input",
            ("secrets set billing-token --host api.example.com < token.txt",),
            _set,
            _add_set_options,
        ),
        Verb(
            "remove",
            "remove a secret that no task uses",
            ("secrets remove billing-token --yes",),
            _remove,
            _add_name,
            dangerous=True,
        ),
    )
