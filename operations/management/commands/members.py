"""``manage.py members``: the people of a tenant, their roles, and invitations by link."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db import transaction

from notifications.layout import invitation_mail
from notifications.services.invitations import link_of
from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from operations.finding import find_row
from operations.tenancy import chosen_tenant, find_member
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, shown, table, wrong_use
from shared.exceptions import NotFound
from tenants.authority import OPERATOR
from tenants.choices import Role
from tenants.models import Invitation, Membership
from tenants.presentation import present_invitation, present_member
from tenants.services.invitations import (
    invite_member,
    issue_token,
    note_sent,
    resend_invitation,
    withdraw_invitation,
)
from tenants.services.memberships import change_member, expel_member, transfer_ownership

_COLUMNS = ("id", "name", "email", "role", "sees_payloads", "active")
_OFFERS = ("id", "email", "role", "status", "expires_at")


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    rows = Membership.objects.filter(tenant=tenant).select_related("user")
    found = [present_member(row) for row in rows.order_by("user__username")]
    lines = table(_COLUMNS, [[shown(str(row[name])) for name in _COLUMNS] for row in found])
    command.emit(options, {"members": found}, lines)


def _invitations(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    rows = Invitation.objects.filter(tenant=chosen_tenant(options["tenant"]))
    found = [present_invitation(row) for row in rows.order_by("-created_at", "-id")]
    lines = table(_OFFERS, [[shown(str(row[name])) for name in _OFFERS] for row in found])
    command.emit(options, {"invitations": found}, lines)


def _invite(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        made = invite_member(
            tenant.id,
            email=options["email"],
            role=options["role"],
            sees_payloads=options["payloads"],
            by=OPERATOR,
            actor=COMMAND,
        )
    _emit_link(command, options, made)


def _resend(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _invitation(options)
    with transaction.atomic(durable=True):
        renewed = resend_invitation(found.tenant_id, found.id, by=OPERATOR, actor=COMMAND)
    _emit_link(command, options, renewed)


def _withdraw(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _invitation(options)
    command.confirm(options, f"Withdraw the invitation of {found.email}? Its link stops working.")
    with transaction.atomic(durable=True):
        ended = withdraw_invitation(found.tenant_id, found.id, by=OPERATOR, actor=COMMAND)
    command.emit(options, present_invitation(ended), [f"withdrawn: {ended.email}"])


def _change(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    member = _member(options["member"], options)
    given = {"role": options["role"], "sees_payloads": options["payloads"]}
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise wrong_use("change", "say what to change: --role, --payloads or --no-payloads")
    with transaction.atomic(durable=True):
        changed = change_member(member.tenant_id, member.pk, wanted, by=OPERATOR, actor=COMMAND)
    _emit(command, options, changed, f"{changed.role}, {_sight(changed)}")


def _remove(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    member = _member(options["member"], options)
    name = shown(member.user.get_username())
    command.confirm(options, f"Remove {name}? Pages and live updates end at once.")
    document = present_member(member)
    with transaction.atomic(durable=True):
        expel_member(member.tenant_id, member.pk, by=OPERATOR, actor=COMMAND)
    command.emit(options, document, [f"removed {name}; the account stays"])


def _transfer(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    member = _member(options["member"], options)
    former = _member(options["from_member"], options) if options["from_member"] else None
    name = shown(member.user.get_username())
    command.confirm(options, f"Make {name} the owner? The owner until now becomes an admin.")
    with transaction.atomic(durable=True):
        made = transfer_ownership(
            member.tenant_id,
            member.pk,
            by=OPERATOR,
            actor=COMMAND,
            from_id=former.pk if former else None,
        )
    _emit(command, options, made, "owner now")


def _emit(
    command: PunctualCommand, options: Mapping[str, Any], member: Membership, now: str
) -> None:
    name = shown(member.user.get_username())
    command.emit(options, present_member(member), [f"{name}: {now}"])


def _emit_link(
    command: PunctualCommand, options: Mapping[str, Any], invitation: Invitation
) -> None:
    """Print the link, and mail it if asked; a mail that fails leaves the printed link valid."""
    with transaction.atomic(durable=True):
        issued = issue_token(invitation.id)
    if issued is None:
        raise NotFound("This invitation is not open any more.")
    found, token = issued
    link, said = link_of(token), []
    if options["mail"]:
        try:
            send_email(
                invitation_mail(
                    found.email, link, tenant=found.tenant.name, role=found.get_role_display()
                )
            )
            note_sent(found.id)
        except TransportError as error:
            note_sent(found.id, error.message)
            said = [f"mail     not sent: {shown(error.message)}"]
    found.refresh_from_db()
    lines = [
        f"invited  {found.email} as {found.role}, until {found.expires_at:%Y-%m-%d %H:%M} UTC",
        f"link     {link}  (works once)",
        *said,
    ]
    command.emit(options, {**present_invitation(found), "link": link}, lines)


def _member(text: str, options: Mapping[str, Any]) -> Membership:
    return find_member(chosen_tenant(options["tenant"]), text)


def _invitation(options: Mapping[str, Any]) -> Invitation:
    rows = Invitation.objects.filter(tenant=chosen_tenant(options["tenant"]))
    text = options["invitation"]
    if "@" in text:
        found = rows.filter(email=text.lower()).order_by("-created_at").first()
        if found is None:
            raise NotFound(f"There is no invitation of {text!r}.")
        return found
    invitation: Invitation = find_row(rows, text, "invitation")
    return invitation


def _sight(member: Membership) -> str:
    return "sees payloads" if member.sees_payloads else "sees no payloads"


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; needed where there are several")


def _add_member(parser: CommandParser) -> None:
    parser.add_argument("member", help="account name, address or id of the member")
    _add_tenant(parser)


def _add_invitation(parser: CommandParser) -> None:
    parser.add_argument("invitation", help="address, or id of the invitation")
    _add_tenant(parser)


def _add_payloads(parser: CommandParser) -> None:
    parser.add_argument(
        "--payloads",
        action=BooleanOptionalAction,
        help="whether the member sees payloads, answers, results and logs",
    )


def _add_mail(parser: CommandParser) -> None:
    parser.add_argument(
        "--mail",
        action=BooleanOptionalAction,
        default=True,
        help="also send the link to the address (yes)",
    )


def _add_invite_options(parser: CommandParser) -> None:
    parser.add_argument("email", help="address of the person")
    parser.add_argument("--role", choices=Role.values, default=Role.VIEWER.value, help="(viewer)")
    _add_payloads(parser)
    _add_mail(parser)
    _add_tenant(parser)


def _add_resend_options(parser: CommandParser) -> None:
    _add_invitation(parser)
    _add_mail(parser)


def _add_change_options(parser: CommandParser) -> None:
    _add_member(parser)
    parser.add_argument("--role", choices=Role.values, help="the new role")
    _add_payloads(parser)


def _add_transfer_options(parser: CommandParser) -> None:
    _add_member(parser)
    parser.add_argument(
        "--from",
        dest="from_member",
        metavar="MEMBER",
        help="the owner who becomes an admin; needed where there are several",
    )


class Command(VerbCommand):
    """List, invite, change and remove the members of a tenant."""

    help = "List, invite, change and remove the members of a tenant."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("list", "list the members", ("members list --tenant Billing",), _list, _add_tenant),
        Verb(
            "invite",
            "offer an address a role; prints the link and mails it",
            ("members invite ada@example.com --role operator --tenant Billing",),
            _invite,
            _add_invite_options,
        ),
        Verb(
            "invitations",
            "list the invitations",
            ("members invitations --tenant Billing",),
            _invitations,
            _add_tenant,
        ),
        Verb(
            "resend",
            "make a new link of an invitation, and mail it",
            ("members resend ada@example.com --tenant Billing",),
            _resend,
            _add_resend_options,
        ),
        Verb(
            "withdraw",
            "end an invitation: its link stops working",
            ("members withdraw ada@example.com --tenant Billing --yes",),
            _withdraw,
            _add_invitation,
            dangerous=True,
        ),
        Verb(
            "change",
            "change a member's role or right to see payloads",
            ("members change ada --role viewer --no-payloads --tenant Billing",),
            _change,
            _add_change_options,
        ),
        Verb(
            "remove",
            "remove a member; the account stays",
            ("members remove ada --tenant Billing --yes",),
            _remove,
            _add_member,
            dangerous=True,
        ),
        Verb(
            "transfer",
            "make a member the owner; the owner until now becomes an admin",
            ("members transfer ada --tenant Billing --yes",),
            _transfer,
            _add_transfer_options,
            dangerous=True,
        ),
    )
