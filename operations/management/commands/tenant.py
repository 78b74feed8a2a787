"""``manage.py tenant``: create, list, set up, limit, suspend, resume, export and erase tenants."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db import transaction

from insight.presentation.erasures import present_erasure
from operations.tasks.erasing import add_note
from operations.tenant_erasure import erase_tenant
from operations.tenant_export import export_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, table, wrong_use
from tasks.quotas import present_quotas
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import Tenant
from tenants.models.tenant import MAX_WEIGHT
from tenants.quotas.limits import DEFAULT_TIER
from tenants.services import (
    change_quotas,
    change_tenant,
    create_api_key,
    create_tenant,
    get_tenant,
    resume_tenant,
    suspend_tenant,
)
from tenants.services.quotas import tiers

_COLUMNS = ("id", "name", "created_at", "suspended_at")
#: More than any limit has.
_DIGITS = 16
_SETTINGS = (
    "default_jitter_seconds",
    "idempotency_required",
    "idempotency_seconds",
    "second_factor_required",
    "provider_required",
)


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("name", help="name of the tenant")
    parser.add_argument("--unlimited", action="store_true", help="no quotas, no rate limits")


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    with transaction.atomic(durable=True):
        tenant = create_tenant(options["name"], unlimited=options["unlimited"], actor=COMMAND)
        _, key = create_api_key(
            tenant, name="first key", scopes=SCOPES, owner=True, actor=COMMAND, by=OPERATOR
        )
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
        "--second-factor-required",
        action=BooleanOptionalAction,
        help="whether members need a second factor; without one they can only set it up",
    )
    parser.add_argument(
        "--provider-required",
        action=BooleanOptionalAction,
        help="whether members sign in by an OpenID provider only, and never by a password",
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


def _add_quotas(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("--tier", metavar="TIER", help="named set of limits, one of TIERS")
    parser.add_argument(
        "--set",
        nargs="+",
        metavar="QUOTA=N",
        default=[],
        help="limits of its own; N is a number, `none` for no limit, or `tier` for the tier's",
    )
    parser.add_argument(
        "--weight",
        type=int,
        metavar="N",
        help=f"its part of scarce worker capacity, 1 to {MAX_WEIGHT}; most tenants have 1",
    )
    bounds = parser.add_mutually_exclusive_group()
    bounds.add_argument(
        "--limited", action="store_true", help="its quotas and rates hold, as for most tenants"
    )
    bounds.add_argument(
        "--unlimited", action="store_true", help="no quota and no rate holds, as for the first one"
    )
    parser.add_argument(
        "--version-seen",
        type=int,
        metavar="N",
        help="refuse where the settings have another version by now",
    )


def _quotas(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = get_tenant(options["name"])
    limits, follow = _read_limits(options["set"])
    unlimited = True if options["unlimited"] else False if options["limited"] else None
    given = (options["tier"], options["weight"], unlimited)
    if limits or follow or any(one is not None for one in given):
        with transaction.atomic(durable=True):
            tenant = change_quotas(
                tenant.id,
                actor=COMMAND,
                tier=options["tier"],
                limits=limits,
                follow=tuple(follow),
                unlimited=unlimited,
                weight=options["weight"],
                expected_version=options["version_seen"],
            )
    if tenant.unlimited:
        command.note("The tenant is unlimited: none of its quotas holds until it is --limited.")
    elif tenant.tier not in tiers():
        command.note(
            f"TIERS of this process names no tier {tenant.tier!r}: it counts as {DEFAULT_TIER!r}."
        )
    found = present_quotas(tenant)
    document = {"id": tenant.id, "name": tenant.name, "version": tenant.version, **found}
    document["own"], document["weight"] = tenant.quotas, tenant.weight
    rows = [
        [one["name"], _number(one["limit"]), _number(one["used"]), _percent(one["share"])]
        for one in found["quotas"]
    ]
    lines = [f"tier    {tenant.tier}", f"weight  {tenant.weight}", ""]
    lines += table(("quota", "limit", "used", "share"), rows)
    command.emit(options, document, lines)


def _read_limits(words: list[str]) -> tuple[dict[str, int | None], list[str]]:
    limits: dict[str, int | None] = {}
    follow = []
    for word in words:
        name, mark, value = word.partition("=")
        if value == "tier":
            follow.append(name)
        elif value == "none":
            limits[name] = None
        elif mark and value.isdecimal() and value.isascii() and len(value) <= _DIGITS:
            limits[name] = int(value)
        else:
            raise wrong_use("--set", f"give QUOTA=N, such as stored_tasks=1000, not {word!r}")
    if len({*limits, *follow}) < len(words):
        raise wrong_use("--set", "give each quota once")
    return limits, follow


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _export(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    path = Path(options["to"]).absolute()
    with_payloads = options["with_payloads"]
    try:
        counts = export_tenant(
            get_tenant(options["name"]), path, with_payloads=with_payloads, actor=COMMAND
        )
    except OSError as error:
        raise wrong_use("--to", f"{path} cannot be written: {error.strerror}.") from error
    document = {"file": str(path), "with_payloads": with_payloads, "rows": counts}
    lines = table(("kind", "rows"), counts.items())
    command.emit(options, document, [*lines, f"written to {path}"])


def _add_export(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("--to", required=True, metavar="FILE", help="a ZIP file, a new one")
    parser.add_argument(
        "--with-payloads",
        action="store_true",
        help="decrypt payloads, progress, results and answers into it",
    )


def _erase(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = get_tenant(options["name"])
    if options["confirm"] != tenant.name:
        raise wrong_use("--confirm", f"repeat the name of the tenant, {tenant.name!r}")
    erasure = erase_tenant(tenant, reason=options["reason"], actor=COMMAND)
    document = {"tenant_id": str(erasure.tenant_id), **present_erasure(erasure)}
    command.emit(options, document, [f"{erasure.status}  erasure {erasure.id}"])


def _add_erase(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("--confirm", required=True, metavar="NAME", help="the name once more")
    add_note(parser)


def _emit(command: PunctualCommand, options: Mapping[str, Any], tenant: Tenant, now: str) -> None:
    document = {name: getattr(tenant, name) for name in _COLUMNS}
    command.emit(options, document, [f"{tenant.name}: {now}"])


class Command(VerbCommand):
    """Create, list, set up, limit, suspend, resume, export and erase tenants."""

    help = "Create, list, set up, limit, suspend, resume, export and erase tenants."
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
            "quotas",
            "show the limits of a tenant and what it uses, or change them",
            (
                'tenant quotas "Billing"',
                'tenant quotas "Billing" --set stored_tasks=1000 creations_per_second=50',
                'tenant quotas "Billing" --tier small --set stored_tasks=tier',
                'tenant quotas "Billing" --weight 3',
            ),
            _quotas,
            _add_quotas,
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
        Verb(
            "export",
            "write the data of a tenant to a ZIP file of JSON Lines, without secrets",
            ('tenant export "Billing" --to billing.zip',),
            _export,
            _add_export,
        ),
        Verb(
            "erase",
            "remove a tenant with all of its rows; a certificate and the audit log stay",
            ('tenant erase "Billing" --confirm "Billing" --note "contract ended"',),
            _erase,
            _add_erase,
        ),
    )
