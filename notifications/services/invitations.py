"""The message that invites an address to a tenant; the link's token is made as it is written.

So the token is in the message alone: neither the web process nor the broker ever holds it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any
from uuid import UUID

import redis
from django.db import transaction

from notifications.broker import wake_invitation
from notifications.layout import invitation_mail
from notifications.links import page
from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from shared.actor import Actor
from tenants.authority import Authority
from tenants.models import Invitation
from tenants.services import invitations
from tenants.services.invitations import count_sent, issue_token, may_send, note_sent

log = logging.getLogger(__name__)


def invite_member(tenant_id: UUID, **wanted: Any) -> Invitation:
    """Offer an address a role, and send the message once this has committed.

    Raise as :func:`tenants.services.invitations.invite_member`.
    """
    return _send_later(invitations.invite_member(tenant_id, **wanted))


def resend_invitation(
    tenant_id: UUID, invitation_id: UUID, *, by: Authority, actor: Actor
) -> Invitation:
    """Renew an offer, and send a new message once this has committed.

    Raise as :func:`tenants.services.invitations.resend_invitation`.
    """
    renewed = invitations.resend_invitation(tenant_id, invitation_id, by=by, actor=actor)
    return _send_later(renewed)


def send_invitation(invitation_id: UUID) -> None:
    """Send the message with a new link; raise TransportError where trying again may help.

    Nothing is sent for an offer that has ended or whose tenant is suspended; nor to an address that
    many tenants have written to today, which their pages do not tell.
    """
    with transaction.atomic(durable=True):
        issued = issue_token(invitation_id)
    if issued is None:
        return
    invitation, token = issued
    if not may_send(invitation):
        # As if it were sent: the limit would else tell a tenant what others do.
        log.warning("invitation.withheld", extra={"invitation_id": str(invitation.id)})
        note_sent(invitation.id)
        return
    mail = invitation_mail(
        invitation.email,
        link_of(token),
        tenant=invitation.tenant.name,
        role=invitation.get_role_display(),
    )
    try:
        send_email(mail)
    except TransportError as error:
        note_sent(invitation.id, error.message)
        if not error.permanent:
            raise
        log.warning("invitation.failed", extra={"invitation_id": str(invitation.id)})
        return
    note_sent(invitation.id)
    count_sent(invitation)


def link_of(token: str) -> str:
    """Return the full address of the page that accepts an invitation."""
    return page(f"/invitations/{token}")


def _send_later(invitation: Invitation) -> Invitation:
    transaction.on_commit(partial(_wake, invitation.id))
    return invitation


def _wake(invitation_id: UUID) -> None:
    try:
        wake_invitation(invitation_id)
    except redis.ConnectionError as error:
        note_sent(invitation_id, "Redis was away: send it again.")
        log.warning("invitation.without_redis", extra={"reason": str(error)})
