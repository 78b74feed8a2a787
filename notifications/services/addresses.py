"""A member's own address for e-mail: it is used once its owner has confirmed it by a link.

Until then messages go to the address confirmed before, else to the account's. So a stranger gets
no mail from a member but a few messages that ask to confirm.
"""

from __future__ import annotations

import logging
from functools import partial

import redis
from django.db import transaction

from events import audit
from notifications.broker import wake_confirmation
from notifications.layout import confirmation_mail
from notifications.limits import count_request
from notifications.links import signed_address
from notifications.models import NotificationPreference
from notifications.recipients import preference_of
from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from shared.actor import Actor
from shared.exceptions import Conflict, NotFound
from tenants.models import Membership

log = logging.getLogger(__name__)


def ask_to_confirm(preference: NotificationPreference) -> None:
    """Make the system worker ask the new address once this has committed.

    Raise TooManyMessages, Unavailable.
    """
    membership = preference.membership
    if _may_ask(membership, preference.email_address or ""):
        transaction.on_commit(partial(_wake, membership.pk))


def ask_again(membership: Membership) -> str:
    """Send the message that asks to confirm once more, at once, and return its address.

    Raise Conflict where no address waits, TooManyMessages, Unavailable, TransportError.
    """
    address = unconfirmed_address(membership)
    if not address:
        raise Conflict("No address waits to be confirmed.", code="nothing_to_confirm")
    if _may_ask(membership, address):
        _send(membership, address)
    return address


def send_confirmation(member_id: int) -> None:
    """Send the message that asks to confirm; raise TransportError where trying again may help."""
    found = Membership.objects.filter(pk=member_id, user__is_active=True)
    # The role of the system worker may not read the hash of a password.
    membership = found.select_related("user", "tenant").defer("user__password").first()
    address = unconfirmed_address(membership) if membership else ""
    if membership is None or not address:
        return
    try:
        _send(membership, address)
    except TransportError as error:
        if not error.permanent:
            raise
        log.warning("confirmation.failed", extra={"member_id": member_id, "reason": error.message})


@transaction.atomic
def confirm_address(member_id: int, address: str, *, caller: str, trace_id: str = "") -> None:
    """Use the address from now on, as its owner has confirmed; repeating it changes nothing.

    Raise NotFound where the member has left, or has another address by now.
    """
    rows = Membership.objects.select_for_update(no_key=True, of=("self",)).select_related("user")
    membership = rows.filter(pk=member_id).first()
    if membership is None:
        raise NotFound("The member is gone.")
    preference = preference_of(membership)
    if preference.email_address != address:
        raise NotFound("The member has another address by now.")
    if preference.confirmed_email_address == address:
        return
    before = {"confirmed_email_address": preference.confirmed_email_address}
    preference.confirmed_email_address = address
    preference.save(update_fields=["confirmed_email_address"])
    actor = Actor(f"user:{membership.user_id}", caller, trace_id)
    audit.record(
        membership.tenant_id,
        actor,
        "notification_address.confirmed",
        "member",
        str(member_id),
        before=before,
        after={"confirmed_email_address": address},
    )


def unconfirmed_address(membership: Membership) -> str:
    """Return the address that waits to be confirmed, or ""."""
    preference = preference_of(membership)
    return "" if preference.is_confirmed else preference.email_address or ""


def _may_ask(membership: Membership, address: str) -> bool:
    """Count the request; return False, as if it were sent, where others have sent too many."""
    allowed = count_request(membership, address)
    if not allowed:
        log.warning("confirmation.withheld", extra={"member_id": membership.pk})
    return allowed


def _wake(member_id: int) -> None:
    try:
        wake_confirmation(member_id)
    except redis.ConnectionError as error:
        log.warning("confirmation.without_redis", extra={"reason": str(error)})


def _send(membership: Membership, address: str) -> None:
    link = signed_address(membership.pk, address)
    send_email(
        confirmation_mail(
            address, link, member=membership.user.get_username(), tenant=membership.tenant.name
        )
    )
