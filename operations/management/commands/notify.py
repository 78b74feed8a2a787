"""``manage.py notify``: test messages, the delivery log, mutes, preferences and browsers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction
from django.db.models import Q

from notifications.choices import AlertKind, Channel
from notifications.models import Alert, Delivery, PushSubscription
from notifications.presentation import (
    RECEIVERS,
    present_delivery,
    present_preference,
    present_subscription,
)
from notifications.recipients import preference_of
from notifications.services.alerts import acknowledge_alert, assign_alert, mute_alert
from notifications.services.preferences import update_preference
from notifications.services.push_subscriptions import unsubscribe
from notifications.services.trials import send_trial
from notifications.transports.errors import TransportError
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import FAILED, PunctualCommand, VerbCommand, shown, table
from shared.exceptions import FieldError, InvalidInput, NotFound
from tenants.models import Membership
from tenants.services import get_tenant

_COLUMNS = ("created_at", "channel", "receiver", "status", "reason", "attempt_count", "error")
_BROWSER_COLUMNS = ("id", "member", "push_service", "created_at", "last_used_at", "error")
_WISHES = ("email_events", "push_events", "console_events", "email_address", "timezone")
_MOST = 1000


def _test(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    membership = _membership(options["member"], options["tenant"])
    channel = options["channel"]
    try:
        where = send_trial(membership, channel, actor=COMMAND, limited=False)
    except TransportError as error:
        document = {"channel": channel, "sent": False, "error": error.message}
        command.emit(options, document, [f"not sent: {error.message}"])
        command.leave(FAILED)
    document = {"channel": channel, "sent": True, "to": where}
    command.emit(options, document, [f"sent by {channel} to {where}"])


def _log(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    if not 1 <= options["limit"] <= _MOST:
        message = f"Give 1 to {_MOST}."
        raise InvalidInput([FieldError("--limit", "invalid", message)], message)
    found = Delivery.objects.select_related(*RECEIVERS).order_by("-created_at", "-id")
    if options["tenant"]:
        found = found.filter(alert__tenant=get_tenant(options["tenant"]))
    if options["status"]:
        found = found.filter(status=options["status"].upper())
    limited = found[: options["limit"]]
    rows = [{**present_delivery(row), "alert_id": str(row.alert_id)} for row in limited]
    lines = table(_COLUMNS, [[_column(row, name) for name in _COLUMNS] for row in rows])
    command.emit(options, {"deliveries": rows}, lines)


def _column(row: Mapping[str, Any], name: str) -> Any:
    if name == "receiver":
        return row["user"] or row["alert_channel"]["name"]
    return row[name]


def _mute(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _alert(options["alert"])
    with transaction.atomic(durable=True):
        alert = mute_alert(found.tenant_id, found.pk, minutes=options["minutes"], actor=COMMAND)
    document = {"id": str(alert.pk), "title": alert.title, "muted_until": alert.muted_until}
    until = (
        f"muted until {alert.muted_until:%Y-%m-%d %H:%M} UTC" if alert.muted_until else "not muted"
    )
    command.emit(options, document, [f"{shown(alert.title)}: {until}"])


def _acknowledge(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _alert(options["alert"])
    wanted = not options["withdraw"]
    with transaction.atomic(durable=True):
        alert = acknowledge_alert(found.tenant_id, found.pk, acknowledged=wanted, actor=COMMAND)
    state = "acknowledged" if wanted else "not acknowledged"
    document = {"id": str(alert.pk), "title": alert.title, "acknowledged": wanted}
    command.emit(options, document, [f"{shown(alert.title)}: {state}"])


def _assign(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _alert(options["alert"])
    member = _membership(options["member"], found.tenant.name).pk if options["member"] else None
    with transaction.atomic(durable=True):
        alert = assign_alert(found.tenant_id, found.pk, member_id=member, actor=COMMAND)
    document = {"id": str(alert.pk), "title": alert.title, "assignee": member}
    whom = shown(options["member"]) if options["member"] else "none"
    command.emit(options, document, [f"{shown(alert.title)}: assigned to {whom}"])


def _alert(alert_id: UUID) -> Alert:
    found = Alert.objects.filter(pk=alert_id).select_related("tenant").first()
    if found is None:
        raise NotFound("There is no such alert.")
    return found


def _preferences(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    membership = _membership(options["member"], options["tenant"])
    wanted = {name: options[name] for name in _WISHES if options[name] is not None}
    if options["quiet_hours"] is not None:
        wanted["quiet_from"], wanted["quiet_to"] = _quiet(options["quiet_hours"])
    if options["digest"] is not None:
        wanted["digest_minutes"] = options["digest"]
    with transaction.atomic(durable=True):
        kept = (
            update_preference(membership.tenant_id, membership.pk, wanted, actor=COMMAND)
            if wanted
            else preference_of(membership)
        )
    document = present_preference(kept)
    lines = (f"{name}: {shown(str(value))}" for name, value in document.items())
    command.emit(options, document, lines)


def _quiet(text: str) -> tuple[time | None, time | None]:
    if text == "none":
        return None, None
    try:
        start, end = (time.fromisoformat(part) for part in text.split("-"))
    except ValueError as error:
        message = "Give quiet hours like 22:00-07:00, or none."
        raise InvalidInput([FieldError("--quiet-hours", "invalid", message)], message) from error
    return start.replace(tzinfo=None), end.replace(tzinfo=None)


def _browsers(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = PushSubscription.objects.select_related("membership").order_by("-created_at", "-id")
    if options["tenant"]:
        found = found.filter(membership__tenant=get_tenant(options["tenant"]))
    if options["remove"]:
        removed = found.filter(pk=options["remove"]).first()
        if removed is None:
            raise NotFound("There is no such browser.")
        with transaction.atomic(durable=True):
            unsubscribe(removed.membership.tenant_id, removed.pk, actor=COMMAND)
    rows = [present_subscription(row) for row in found[:_MOST]]
    lines = table(_BROWSER_COLUMNS, [[row[name] for name in _BROWSER_COLUMNS] for row in rows])
    command.emit(options, {"push_subscriptions": rows}, lines)


def _membership(name: str, tenant: str | None) -> Membership:
    found = Membership.objects.filter(
        Q(user__username__iexact=name)
        | Q(user__email__iexact=name)
        | Q(notification_preference__confirmed_email_address__iexact=name)
    ).select_related("user", "tenant")
    if tenant:
        found = found.filter(tenant=get_tenant(tenant))
    memberships = list(found.order_by("id")[:2])
    if not memberships:
        raise NotFound(f"There is no member {name!r}.")
    if len(memberships) > 1:
        message = "This name fits more than one membership; give --tenant."
        raise InvalidInput([FieldError("--member", "ambiguous", message)], message)
    return memberships[0]


def _add_test_options(parser: CommandParser) -> None:
    parser.add_argument("channel", choices=Channel.values, help="the channel of the message")
    parser.add_argument("--member", required=True, help="user name or e-mail address")
    parser.add_argument("--tenant", help="name or id, where the member has several")


def _add_log_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--status", help="pending, sending, sent, failed or suppressed")
    parser.add_argument("--limit", type=int, default=20, help="at most this many (20)")


def _add_acknowledge_options(parser: CommandParser) -> None:
    parser.add_argument("alert", type=UUID, metavar="ALERT", help="the id of the alert")
    parser.add_argument("--withdraw", action="store_true", help="take an acknowledgement back")


def _add_assign_options(parser: CommandParser) -> None:
    parser.add_argument("alert", type=UUID, metavar="ALERT", help="the id of the alert")
    parser.add_argument("--member", help="user name or e-mail address; none if left out")


def _add_mute_options(parser: CommandParser) -> None:
    parser.add_argument("alert", type=UUID, metavar="ALERT", help="the id of the alert")
    parser.add_argument(
        "--minutes", type=int, default=60, help="length of the mute; 0 ends it (default 60)"
    )


def _add_preferences_options(parser: CommandParser) -> None:
    parser.add_argument("--member", required=True, help="user name or e-mail address")
    parser.add_argument("--tenant", help="name or id, where the member has several")
    for channel in ("email", "push", "console"):
        parser.add_argument(
            f"--{channel}",
            dest=f"{channel}_events",
            nargs="*",
            choices=AlertKind.values,
            help=f"what reaches the member by {channel}; without a value, nothing does",
        )
    parser.add_argument(
        "--address",
        dest="email_address",
        help="e-mail address, which gets a link to confirm it; '' for the account's",
    )
    parser.add_argument(
        "--timezone",
        "--tz",
        metavar="ZONE",
        help="IANA zone of the member's messages and quiet hours",
    )
    parser.add_argument("--quiet-hours", metavar="FROM-TO", help="such as 22:00-07:00, or none")
    parser.add_argument(
        "--digest",
        type=int,
        metavar="MINUTES",
        help="gather e-mail that is not urgent for so long; 0 for at once",
    )


def _add_browsers_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id")
    parser.add_argument("--remove", type=UUID, metavar="ID", help="forget this browser first")


class Command(VerbCommand):
    """Test messages, the delivery log, mutes, members' preferences and browsers."""

    help = "Test messages, the delivery log, mutes, members' preferences and browsers."
    verbs = (
        Verb(
            "test",
            "send a test message now and print the result",
            ("notify test email --member admin",),
            _test,
            _add_test_options,
        ),
        Verb(
            "log",
            "list the latest deliveries of alerts",
            ("notify log --status failed",),
            _log,
            _add_log_options,
        ),
        Verb(
            "mute",
            "send no notices of an alert for a while; it keeps counting",
            ("notify mute 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --minutes 480",),
            _mute,
            _add_mute_options,
        ),
        Verb(
            "acknowledge",
            "send no further notice of an alert but that of its end, and do not escalate it",
            ("notify acknowledge 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",),
            _acknowledge,
            _add_acknowledge_options,
        ),
        Verb(
            "assign",
            "name the member who works on an alert",
            ("notify assign 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1 --member admin",),
            _assign,
            _add_assign_options,
        ),
        Verb(
            "preferences",
            "show or change what reaches a member",
            ("notify preferences --member admin --email final_failure --quiet-hours 22:00-07:00",),
            _preferences,
            _add_preferences_options,
        ),
        Verb(
            "browsers",
            "list the browsers that get push messages, or forget one",
            ("notify browsers --tenant default",),
            _browsers,
            _add_browsers_options,
        ),
    )
