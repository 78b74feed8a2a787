"""``manage.py rules``: alert rules, which say what opens an alert over which tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from notifications.choices import ALERT_KINDS, RuleScope
from notifications.models import AlertRule
from notifications.presentation import present_rule
from notifications.services.rules import (
    RuleFields,
    create_rule,
    delete_rule,
    get_rule,
    list_rules,
    update_rule,
)
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.models import Tenant

_FIELDS = ("name", "scope", "value", "threshold", "window_seconds", "urgent", "enabled")
_COLUMNS = ("id", "kind", "covers", "threshold", "window_seconds", "enabled", "name")
_WIDTH = 30


def _list(command: Any, options: Mapping[str, Any]) -> None:
    found = [present_rule(rule) for rule in list_rules(_tenant(options).id)]
    rows = (
        [shown(str(_covers(one) if key == "covers" else one[key]), _WIDTH + 6) for key in _COLUMNS]
        for one in found
    )
    command.emit(options, {"notification_rules": found}, table(_COLUMNS, rows, command.paint))


def _show(command: Any, options: Mapping[str, Any]) -> None:
    _emit(command, options, get_rule(_tenant(options).id, options["id"]))


def _create(command: Any, options: Mapping[str, Any]) -> None:
    given = cast(RuleFields, {**_given(options), "kind": options["kind"]})
    with transaction.atomic(durable=True):
        made = create_rule(_tenant(options).id, given, actor=COMMAND)
    _emit(command, options, made)


def _edit(command: Any, options: Mapping[str, Any]) -> None:
    with transaction.atomic(durable=True):
        changed = update_rule(
            _tenant(options).id,
            options["id"],
            cast(RuleFields, _given(options)),
            actor=COMMAND,
            expected_version=options["version_seen"],
        )
    _emit(command, options, changed)


def _delete(command: Any, options: Mapping[str, Any]) -> None:
    found = get_rule(_tenant(options).id, options["id"])
    command.confirm(options, f"Delete the alert rule {found.name!r}? Its open alerts are closed.")
    with transaction.atomic(durable=True):
        delete_rule(found.tenant_id, found.id, actor=COMMAND)
    document = {"id": str(found.id), "name": found.name}
    command.emit(options, document, [f"deleted {shown(found.name)}"])


def _tenant(options: Mapping[str, Any]) -> Tenant:
    return chosen_tenant(options["tenant"])


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _FIELDS if options[name] is not None}


def _emit(command: Any, options: Mapping[str, Any], rule: AlertRule) -> None:
    document = present_rule(rule)
    command.emit(options, document, _lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        yield f"{name:<15} {shown(str('-' if value is None else value))}"


def _covers(document: Mapping[str, Any]) -> str:
    return f"{document['scope']} {document['value']}".strip()


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", type=UUID, metavar="ID", help="the id of the rule")
    _add_tenant(parser)


def _add_fields(parser: CommandParser) -> None:
    _add_tenant(parser)
    parser.add_argument("--scope", choices=RuleScope.values, help="which tasks it covers (all)")
    parser.add_argument("--value", help="key:value of the label, or id of the task or workflow")
    parser.add_argument("--threshold", type=int, help="a number or percentage, by kind")
    parser.add_argument(
        "--window", dest="window_seconds", type=int, metavar="SECONDS", help="seconds, by kind"
    )
    for name, on, off in (
        ("urgent", "its alerts reach members in their quiet hours", "they do not"),
        ("enabled", "it judges", "it does not"),
    ):
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(f"--{name}", action="store_true", default=None, help=on)
        chosen.add_argument(f"--not-{name}", dest=name, action="store_false", help=off)


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("kind", choices=ALERT_KINDS, metavar="KIND", help="what it judges")
    parser.add_argument("name", help="a name for people")
    _add_fields(parser)


def _add_edit_options(parser: CommandParser) -> None:
    parser.add_argument("id", type=UUID, metavar="ID", help="the id of the rule")
    parser.add_argument("--name", help="another name")
    _add_fields(parser)
    parser.add_argument(
        "--version-seen", type=int, metavar="N", help="change it only at this version"
    )


class Command(VerbCommand):
    """List, make, change and delete alert rules."""

    help = "Alert rules: which conditions open an alert, over which tasks."
    verbs = (
        Verb(
            "list",
            "list the rules: built-in ones by kind, then the tenant's own by name",
            ("rules list --json",),
            _list,
            _add_tenant,
        ),
        Verb(
            "show",
            "show one rule",
            ("rules show 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",),
            _show,
            _add_id,
        ),
        Verb(
            "create",
            "make a rule",
            (
                'rules create failures_in_a_row "Billing fails" --threshold 5'
                " --scope label --value team:billing",
                'rules create failure_share "Half fails" --threshold 50 --window 900 --urgent',
            ),
            _create,
            _add_create_options,
        ),
        Verb(
            "edit",
            "change a rule; what is left out stays",
            ("rules edit 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --not-enabled",),
            _edit,
            _add_edit_options,
        ),
        Verb(
            "delete",
            "delete a rule and close its open alerts",
            ("rules delete 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --yes",),
            _delete,
            _add_id,
            dangerous=True,
        ),
    )
