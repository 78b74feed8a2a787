"""``manage.py apikey``: create, list, edit, rotate and revoke API keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db import transaction

from operations.finding import moment_option
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, table
from shared.exceptions import FieldError, InvalidInput, NotFound
from shared.ids import parse_uuid
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import ApiKey
from tenants.services import (
    create_api_key,
    edit_api_key,
    get_tenant,
    revoke_api_key,
    rotate_api_key,
)
from tenants.services.api_keys import DEFAULT_OVERLAP_SECONDS

_COLUMNS = (
    *("id", "prefix", "name", "scopes", "owner", "sees_payloads", "addresses", "last_used_at"),
    *("last_used_address", "expires_at", "revoked_at", "replaced_by"),
)
_LISTED = ("scopes", "addresses")
_END = "when it ends: 90d, 2027-01-31 18:00, or RFC 3339"


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", required=True, help="name or id")
    parser.add_argument("--name", required=True, help="what the key is for")
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="repeatable; if left out read and write, or read with --no-payloads",
    )
    parser.add_argument("--owner", action="store_true", help="may see signing secrets")
    parser.add_argument(
        "--no-payloads",
        action="store_true",
        help="sees no payloads, answers, results and logs; for the scopes read and operate",
    )
    _add_addresses(
        parser, "repeatable; an address or network that may use the key; all if left out"
    )
    parser.add_argument("--expires-at", metavar="TIME", help=_END)


def _add_addresses(parser: Any, text: str) -> None:
    parser.add_argument("--address", action="append", metavar="NETWORK", help=text)


def _add_edit_options(parser: CommandParser) -> None:
    _add_key(parser)
    parser.add_argument("--name", help="what the key is for")
    parser.add_argument(
        "--scope", action="append", choices=SCOPES, help="repeatable; all scopes from now on"
    )
    addresses = parser.add_mutually_exclusive_group()
    _add_addresses(addresses, "repeatable; all addresses and networks that may use it from now on")
    addresses.add_argument(
        "--any-address", action="store_true", help="every address may use it from now on"
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--expires-at", metavar="TIME", help=_END)
    end.add_argument("--no-expiry", action="store_true", help="it does not expire")


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", required=True, help="name or id")


def _add_key(parser: CommandParser) -> None:
    parser.add_argument("key", help="id or prefix")


def _add_rotate_options(parser: CommandParser) -> None:
    _add_key(parser)
    parser.add_argument(
        "--overlap-seconds",
        type=int,
        default=DEFAULT_OVERLAP_SECONDS,
        help="how long the old key stays valid (86400), 604800 at most",
    )
    parser.add_argument(
        "--expires-at",
        metavar="TIME",
        help="when the new key ends: 90d or RFC 3339; if left out, the end of the old key",
    )


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    expires_at = moment_option("--expires-at", options["expires_at"], ahead=True)
    with transaction.atomic(durable=True):
        made, key = create_api_key(
            get_tenant(options["tenant"]),
            name=options["name"],
            scopes=options["scope"] or (["read"] if options["no_payloads"] else ["read", "write"]),
            owner=options["owner"],
            sees_payloads=not options["no_payloads"],
            addresses=options["address"] or (),
            expires_at=expires_at,
            actor=COMMAND,
            by=OPERATOR,
        )
    _emit_made(command, options, made, key)


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    keys = ApiKey.objects.filter(tenant=get_tenant(options["tenant"]))
    rows = list(keys.order_by("-created_at", "-id").values(*_COLUMNS))
    shown = [{**row, **{name: ",".join(row[name]) for name in _LISTED}} for row in rows]
    lines = table(_COLUMNS, [[row[name] for name in _COLUMNS] for row in shown])
    command.emit(options, {"api_keys": rows}, lines)


def _edit(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    key = _key(options["key"])
    changes: dict[str, Any] = {}
    for field, option in (("name", "name"), ("scopes", "scope"), ("addresses", "address")):
        if options[option] is not None:
            changes[field] = options[option]
    if options["any_address"]:
        changes["addresses"] = []
    if options["expires_at"] or options["no_expiry"]:
        changes["expires_at"] = moment_option("--expires-at", options["expires_at"], ahead=True)
    if not changes:
        raise _invalid("key", "Nothing to change: give --name, --scope, --address or --expires-at.")
    with transaction.atomic(durable=True):
        found = edit_api_key(key.tenant_id, key.id, changes, actor=COMMAND, by=OPERATOR)
    document = {
        "id": found.id,
        "prefix": found.prefix,
        "name": found.name,
        "scopes": found.scopes,
        "addresses": found.addresses,
        "expires_at": found.expires_at,
    }
    command.emit(options, document, [f"changed {found}"])


def _revoke(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    key = _key(options["key"])
    command.confirm(options, f"Revoke the key {key}? Its next call is refused.")
    with transaction.atomic(durable=True):
        revoked = revoke_api_key(key.tenant_id, key.id, actor=COMMAND, by=OPERATOR)
    document = {"id": revoked.id, "revoked_at": revoked.revoked_at}
    command.emit(options, document, [f"revoked {revoked}"])


def _rotate(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    key = _key(options["key"])
    overlap = options["overlap_seconds"]
    expires_at = moment_option("--expires-at", options["expires_at"], ahead=True)
    command.confirm(options, f"Replace the key {key}? It is refused after {overlap} s.")
    with transaction.atomic(durable=True):
        made, text = rotate_api_key(
            key.tenant_id,
            key.id,
            overlap_seconds=overlap,
            expires_at=expires_at,
            actor=COMMAND,
            by=OPERATOR,
        )
    _emit_made(command, options, made, text)


def _emit_made(
    command: PunctualCommand, options: Mapping[str, Any], made: ApiKey, key: str
) -> None:
    document = {"id": made.id, "prefix": made.prefix, "key": key}
    command.emit(options, document, [f"id       {made.id}", f"API key  {key}  (shown once)"])


def _key(id_or_prefix: str) -> ApiKey:
    try:
        found = list(ApiKey.objects.filter(pk=parse_uuid(id_or_prefix)))
    except ValueError:
        found = list(ApiKey.objects.filter(prefix=id_or_prefix)[:2])
    if not found:
        raise NotFound(f"There is no API key {id_or_prefix!r}.")
    if len(found) > 1:
        raise _invalid("key", "More than one key has this prefix; give the id.")
    return found[0]


def _invalid(pointer: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(pointer, "invalid", message)], message)


class Command(VerbCommand):
    """Create, list, edit, rotate and revoke API keys."""

    help = "Create, list, edit, rotate and revoke API keys."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "create",
            "create a key, shown once",
            ("apikey create --tenant Billing --name ci --scope read --scope write",),
            _create,
            _add_create_options,
        ),
        Verb(
            "list",
            "list keys, revoked ones too",
            ("apikey list --tenant Billing",),
            _list,
            _add_list_options,
        ),
        Verb(
            "edit",
            "change the name, scopes, addresses or end of a key",
            (
                "apikey edit abcdefghi --address 203.0.113.0/24 --address 2001:db8::/32",
                "apikey edit abcdefghi --scope read --expires-at 2027-01-01T00:00:00Z",
            ),
            _edit,
            _add_edit_options,
        ),
        Verb(
            "revoke",
            "make a key invalid",
            ("apikey revoke abcdefghi --yes",),
            _revoke,
            _add_key,
            dangerous=True,
        ),
        Verb(
            "rotate",
            "make a key like another, which then expires",
            ("apikey rotate abcdefghi --overlap-seconds 3600 --yes",),
            _rotate,
            _add_rotate_options,
            dangerous=True,
        ),
    )
