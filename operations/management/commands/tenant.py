"""``manage.py tenant``: create, list, set up, suspend and resume tenants."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db import transaction

from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, table, wrong_use
from tenants.choices import SCOPES
from tenants.models import Tenant
from tenants.services import (
    change_tenant,
    create_api_key,
    create_tenant,
    get_tenant,
    resume_tenant,
    suspend_tenant,
)

_COLUMNS = ("id", "name", "created_at", "suspended_at")
_SETTINGS = ("default_jitter_seconds", "idempotency_required", "idempotency_seconds")


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("name", help="name of the tenant")
    parser.add_argument("--unlimited", action="store_true", help="no quotas, no rate limits")


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    with transaction.atomic(durable=True):
        tenant = create_tenant(options["name"], unlimited=options["unlimited"], actor=COMMAND)
        _, key = create_api_key(tenant, name="first key", scopes=SCOPES, owner=True, actor=COMMAND)
    lines = [f"tenant   {tenant.id}", f"API key  {key}  (shown once)"]
    command.emit(options, {"id": tenant.id, "api_key": key}, lines)


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    rows = list(Tenant.objects.order_by("name").values(*_COLUMNS))
    lines = table(_COLUMNS, [[row[name] for name in _COLUMNS] for row in rows])
    command.emit(options, {"tenants": rows}, lines)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", help="name or id of the tenant")


def _add_settings(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument(
        "--default-jitter-seconds",
        type=float,
        metavar="N",
        help="jitter of new recurring tasks that name none; 0 is off",
    )
    parser.add_argument(
        "--idempotency-required",
        action=BooleanOptionalAction,
        help="whether every change of the API needs an Idempotency-Key",
    )
    parser.add_argument(
        "--idempotency-seconds",
        type=int,
        metavar="N",
        help="how long answers are kept for repeated calls, 86400 to 2592000",
    )
    parser.add_argument(
        "--version-seen",
        type=int,
        metavar="N",
        help="refuse where the settings have another version by now",
    )


def _set(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    wanted = {name: options[name] for name in _SETTINGS if options[name] is not None}
    if not wanted:
        raise wrong_use("set", "say what to change, such as --default-jitter-seconds")
    with transaction.atomic(durable=True):
        changed = change_tenant(
            get_tenant(options["name"]).id,
            wanted,
            actor=COMMAND,
            expected_version=options["version_seen"],
        )
    document = {name: getattr(changed, name) for name in ("id", "name", "version", *_SETTINGS)}
    lines = [f"{changed.name}: {name} {_text(document[name])}" for name in wanted]
    command.emit(options, document, lines)


def _text(value: bool | float) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.12g}"


def _suspend(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = get_tenant(options["name"])
    effect = "Its keys and members are refused, and nothing of it starts."
    command.confirm(options, f"Suspend {tenant.name!r}? {effect}")
    with transaction.atomic(durable=True):
        changed = suspend_tenant(tenant.id, actor=COMMAND)
    _emit(command, options, changed, "suspended; running executions may end")


def _resume(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    with transaction.atomic(durable=True):
        changed = resume_tenant(get_tenant(options["name"]).id, actor=COMMAND)
    _emit(command, options, changed, "resumed; misfire policies decide on what it missed")


def _emit(command: PunctualCommand, options: Mapping[str, Any], tenant: Tenant, now: str) -> None:
    document = {name: getattr(tenant, name) for name in _COLUMNS}
    command.emit(options, document, [f"{tenant.name}: {now}"])


class Command(VerbCommand):
    """Create, list, set up, suspend and resume tenants."""

    help = "Create, list, set up, suspend and resume tenants."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "create",
            "create a tenant and its first API key",
            ('tenant create "Billing" --json',),
            _create,
            _add_create_options,
        ),
        Verb("list", "list the tenants", ("tenant list",), _list),
        Verb(
            "set",
            "change settings of a tenant",
            (
                'tenant set "Billing" --default-jitter-seconds 30',
                'tenant set "Billing" --idempotency-required --idempotency-seconds 604800',
            ),
            _set,
            _add_settings,
        ),
        Verb(
            "suspend",
            "refuse the tenant's keys and members, and start nothing of it; its data stays",
            ('tenant suspend "Billing" --yes',),
            _suspend,
            _add_name,
            dangerous=True,
        ),
        Verb(
            "resume",
            "end a suspension: the tenant may call, and its tasks fire again",
            ('tenant resume "Billing"',),
            _resume,
            _add_name,
        ),
    )
