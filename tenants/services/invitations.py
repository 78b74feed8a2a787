"""Invite people to a tenant by a link that works once, withdraw the offer and send it anew.

The link's token is random and is stored as its hash. It is made where it is shown: when the mail is
written, or for the operator on the command line.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q

from events import audit
from shared import database_clock, tenant_scope, windowed_counts
from shared.actor import Actor
from shared.exceptions import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    Unavailable,
)
from shared.redis_client import ConnectionFailed
from shared.tenant_scope import Purpose
from tenants.authority import Authority, lock_members, require_reach, role_of
from tenants.choices import sees_by_default
from tenants.models import ApiKey, Invitation, Membership, Tenant
from tenants.services.memberships import check_rights
from tenants.suspension import TenantSuspended

log = logging.getLogger(__name__)

LIFETIME = timedelta(days=7)
#: As long as a user name, which an address becomes.
LONGEST_ADDRESS = 150
#: Messages with an invitation within a day: of a tenant, and of a tenant to one address.
MOST_OF_TENANT, MOST_TO_ADDRESS, COUNTED_SECONDS = 50, 5, 24 * 3600
#: Messages to one address of all tenants together. Beyond it the offer is made as ever and the
#: message stays unsent: a refusal would tell a tenant what others do.
MOST_OF_ALL_TO_ADDRESS = 50
#: Offers of a tenant that wait at a time.
MOST_OPEN = 200
#: How long an offer that has ended stays in the list; the audit keeps it.
_KEPT = timedelta(days=30)
_PRINTABLE = re.compile(r"[!-~]+")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")
#: What is told of a link that does not work.
ENDED = (
    "This invitation is not valid any more: it was used, withdrawn or replaced by a newer "
    "message, or it is older than seven days. Ask for a new one."
)


class TooManyInvitations(QuotaExceeded):
    """The limit of invitations is reached; try again later."""

    code = "too_many_invitations"
    retry_after = COUNTED_SECONDS


@transaction.atomic
def invite_member(
    tenant_id: UUID,
    *,
    email: str,
    role: str,
    by: Authority,
    actor: Actor,
    sees_payloads: bool | None = None,
) -> Invitation:
    """Offer an address a role; the offer ends after seven days.

    Raise InvalidInput, Forbidden (only owners make owners), Conflict for a member or an address
    with an open offer, TooManyInvitations, Unavailable while Redis is away, or TenantSuspended.
    """
    address = read_address(email)
    check_rights(role, sees_payloads)
    tenant = _lock_active(tenant_id)
    require_reach(role_of(tenant_id, by), role)
    if _members_of(tenant_id, address).exists():
        raise Conflict("This address belongs to a member already.", code="already_member")
    _clear(tenant_id, address)
    _count(tenant_id, address, by)
    key = ApiKey.objects.filter(pk=by.key_id).first() if by.key_id else None
    now = database_clock.now()
    made = Invitation.objects.create(
        tenant=tenant,
        email=address,
        role=role,
        sees_payloads=sees_by_default(role) if sees_payloads is None else sees_payloads,
        invited_by=actor.name[:200],
        inviter_id=by.user_id,
        inviting_key=key,
        by_operator=by.is_operator,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    _record(made, "member.invited", actor, _facts(made))
    return made


@transaction.atomic
def resend_invitation(
    tenant_id: UUID, invitation_id: UUID, *, by: Authority, actor: Actor
) -> Invitation:
    """Renew an offer for seven days under the right of the caller; its next link is the valid one.

    Raise NotFound, Forbidden, Conflict for an offer that was accepted or withdrawn,
    TooManyInvitations, Unavailable, or TenantSuspended.
    """
    _lock_active(tenant_id)
    held = role_of(tenant_id, by)
    found = _get_open(tenant_id, invitation_id)
    require_reach(held, found.role)
    _count(tenant_id, found.email, by)
    found.expires_at = database_clock.now() + LIFETIME
    found.token_hash, found.sent_at, found.mail_error = None, None, ""
    found.invited_by, found.by_operator = actor.name[:200], by.is_operator
    found.inviter_id, found.inviting_key_id = by.user_id, by.key_id
    found.save()
    _record(found, "invitation.resent", actor, {"expires_at": found.expires_at})
    return found


@transaction.atomic
def withdraw_invitation(
    tenant_id: UUID, invitation_id: UUID, *, by: Authority, actor: Actor
) -> Invitation:
    """End an offer: its link works no longer. An offer that was withdrawn stays so.

    Raise NotFound, Forbidden (only owners reach offers of ownership), or Conflict for an accepted
    offer.
    """
    lock_members(tenant_id)
    held = role_of(tenant_id, by)
    found = get_invitation(tenant_id, invitation_id)
    require_reach(held, found.role)
    if found.withdrawn_at is None:
        found = _get_open(tenant_id, invitation_id)
        found.withdrawn_at, found.token_hash = database_clock.now(), None
        found.save(update_fields=["withdrawn_at", "token_hash"])
        _record(found, "invitation.withdrawn", actor, {"withdrawn_at": found.withdrawn_at})
    return found


def get_invitation(tenant_id: UUID, invitation_id: UUID) -> Invitation:
    """Return the tenant's invitation; raise NotFound, for another tenant's too."""
    found = Invitation.objects.filter(tenant_id=tenant_id, pk=invitation_id).first()
    if found is None:
        raise NotFound("There is no such invitation.")
    return found


@transaction.atomic
def issue_token(invitation_id: UUID) -> tuple[Invitation, str] | None:
    """Return an open offer with a new token, which makes earlier ones worthless; else None."""
    rows = Invitation.objects.select_for_update(of=("self",)).select_related("tenant")
    found = rows.filter(pk=invitation_id).first()
    if found is None or not found.is_open_at(database_clock.now()) or found.tenant.suspended_at:
        return None
    token = secrets.token_urlsafe(32)
    found.token_hash = hash_token(token)
    found.save(update_fields=["token_hash"])
    return found, token


def may_send(invitation: Invitation) -> bool:
    """Return whether the address has had fewer messages of all tenants than a day may have.

    An operator's offer is not limited, and none is while Redis is away: no new one is made then.
    """
    try:
        [counted] = windowed_counts.counts_of([_of_all(invitation)])
    except ConnectionFailed as error:
        log.warning("invitation.not_counted", extra={"reason": type(error).__name__})
        return True
    return invitation.by_operator or counted < MOST_OF_ALL_TO_ADDRESS


def count_sent(invitation: Invitation) -> None:
    """Count a message that was sent to the address, unless Redis is away."""
    try:
        windowed_counts.count([_of_all(invitation)], COUNTED_SECONDS)
    except ConnectionFailed as error:
        # An error here would send the message again.
        log.warning("invitation.not_counted", extra={"reason": type(error).__name__})


def _of_all(invitation: Invitation) -> str:
    return f"invitations-to:{invitation.email}"


def note_sent(invitation_id: UUID, error: str = "") -> None:
    """Note that the message with the link was sent, or why it was not."""
    sent_at = None if error else database_clock.now()
    Invitation.objects.filter(pk=invitation_id).update(sent_at=sent_at, mail_error=error[:300])


def find_invitation(token: str) -> Invitation:
    """Return the open offer of a token; raise NotFound for a made-up, used, ended or old one."""
    if is_token(token):
        rows = Invitation.objects.select_related("tenant")
        with tenant_scope.across(Purpose.INVITATION):
            found = rows.filter(token_hash=hash_token(token)).first()
        if found is not None and found.is_open_at(database_clock.now()):
            return found
    raise NotFound(ENDED)


def is_token(text: str) -> bool:
    """Return whether the text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    """Return the stored hash of a token. Plain SHA-256: tokens are long and random."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read_address(text: str) -> str:
    """Return an e-mail address in lower case; raise InvalidInput for anything else.

    Letters beyond ASCII are refused: invisible ones make two addresses look the same.
    """
    address = text.strip(" ").lower()
    try:
        if len(address) > LONGEST_ADDRESS or not _PRINTABLE.fullmatch(address):
            raise ValidationError("")
        validate_email(address)
    except ValidationError as error:
        message = f"Give an e-mail address of at most {LONGEST_ADDRESS} ASCII characters."
        raise InvalidInput([FieldError("#/email", "invalid", message)], message) from error
    return address


def _lock_active(tenant_id: UUID) -> Tenant:
    tenant = lock_members(tenant_id)
    if tenant.suspended_at is not None:
        raise TenantSuspended
    return tenant


def _get_open(tenant_id: UUID, invitation_id: UUID) -> Invitation:
    found = get_invitation(tenant_id, invitation_id)
    if found.accepted_at is not None or found.withdrawn_at is not None:
        ended = "accepted" if found.accepted_at else "withdrawn"
        raise Conflict(f"This invitation was {ended}.", code="invitation_ended")
    return found


def _members_of(tenant_id: UUID, address: str) -> Any:
    named = Q(user__email="", user__username__iexact=address)
    by_address = Q(user__email__iexact=address) | named
    return Membership.objects.filter(by_address, tenant_id=tenant_id)


def _clear(tenant_id: UUID, address: str) -> None:
    """End the address's expired offer and forget old ones; raise where an open one exists."""
    now = database_clock.now()
    rows = Invitation.objects.filter(tenant_id=tenant_id)
    ended = Q(accepted_at__lt=now - _KEPT) | Q(withdrawn_at__lt=now - _KEPT)
    rows.filter(ended | Q(expires_at__lt=now - _KEPT)).delete()
    waiting = rows.filter(accepted_at=None, withdrawn_at=None)
    waiting.filter(email=address, expires_at__lte=now).update(withdrawn_at=now, token_hash=None)
    if waiting.filter(email=address).exists():
        message = "This address has an open invitation: send that one again, or withdraw it."
        raise Conflict(message, code="invitation_open")
    if waiting.count() >= MOST_OPEN:
        raise TooManyInvitations(f"At most {MOST_OPEN} invitations wait at a time: withdraw some.")


def _count(tenant_id: UUID, address: str, by: Authority) -> None:
    """Count a message; the operator's are not limited. Raise TooManyInvitations, Unavailable."""
    if by.is_operator:
        return
    try:
        allowed = _is_within(f"invitations-of:{tenant_id}", MOST_OF_TENANT) and _is_within(
            f"invitations-of:{tenant_id}:{address}", MOST_TO_ADDRESS
        )
    except ConnectionFailed as error:
        raise Unavailable("Invitations cannot be counted at this moment; none is sent.") from error
    if not allowed:
        raise TooManyInvitations(
            f"At most {MOST_OF_TENANT} invitations of a tenant, and {MOST_TO_ADDRESS} to one "
            "address, are sent within a day. Try again tomorrow."
        )


def _is_within(name: str, most: int) -> bool:
    [counted] = windowed_counts.count([name], COUNTED_SECONDS)
    return counted <= most


def _record(invitation: Invitation, action: str, actor: Actor, after: dict[str, Any]) -> None:
    audit.record(invitation.tenant_id, actor, action, "invitation", str(invitation.id), after=after)


def _facts(invitation: Invitation) -> dict[str, Any]:
    return {
        "email": invitation.email,
        "role": str(invitation.role),
        "sees_payloads": invitation.sees_payloads,
        "expires_at": invitation.expires_at,
    }
