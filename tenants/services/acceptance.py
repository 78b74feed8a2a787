"""Accept an invitation: with the account of its address, or with a new one.

The offer is asked again under the lock of the tenant's members: it works once, it gives the offered
role, and it needs an inviter who may still give that role.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from events import audit
from shared import database_clock
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, Forbidden, InvalidInput
from tenants import right_changes
from tenants.authority import Authority, lock_members, require_reach, role_of
from tenants.models import Invitation, Membership
from tenants.services.accounts import describe_account, record_change
from tenants.services.invitations import find_invitation
from tenants.suspension import TenantSuspended

_LONGEST_PASSWORD = 1000


class InviterLostRight(Forbidden):
    """Who invited you may no longer give this role: ask for a new invitation."""

    code = "inviter_lost_right"


def is_for(invitation: Invitation, user: User) -> bool:
    """Return whether the account has the address of the offer."""
    return (user.email or user.username).lower() == invitation.email


def accounts_for(invitation: Invitation) -> QuerySet[User]:
    """Return the accounts that have the address of the offer, or its spelling as their name."""
    address = invitation.email
    return User.objects.filter(Q(email__iexact=address) | Q(username__iexact=address))


@transaction.atomic
def accept_invitation(token: str, user: User, *, actor: Actor) -> Membership:
    """Make the account a member, as the invitation offers.

    Raise NotFound, Forbidden for another address, Conflict for a member, TenantSuspended, or
    InviterLostRight.
    """
    invitation = _lock_valid(token)
    if not is_for(invitation, user) or not user.is_active:
        raise Forbidden(
            "This invitation is for another address: sign in with the account of that address."
        )
    return _join(invitation, user, actor)


def join_by_invitation(token: str, password: str, *, address: str, trace_id: str = "") -> User:
    """Make an account for the address of the invitation, and the account a member.

    The token proves that the person reads the address's mail. Raise as
    :func:`accept_invitation`, Conflict where the address has an account, or InvalidInput for a
    password that is too weak. The password is hashed before the transaction: that takes long on a
    busy machine, and a transaction that is idle holds the members' lock and is ended.
    """
    offered = find_invitation(token)
    user = User(username=offered.email, email=offered.email)
    _check(password, user)
    user.set_password(password)
    with transaction.atomic(durable=True):
        return _join_with_account(token, user, address, trace_id)


def _join_with_account(token: str, user: User, address: str, trace_id: str) -> User:
    invitation = _lock_valid(token)
    if accounts_for(invitation).exists():
        raise Conflict("This address has an account: sign in to accept.", code="account_exists")
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise Conflict(
            "This address has an account by now: sign in to accept.", code="account_exists"
        ) from error
    actor = Actor(f"user:{user.pk}", address, trace_id)
    record_change("user", user.pk, None, describe_account(user), actor=actor)
    _join(invitation, user, actor)
    return user


def _lock_valid(token: str) -> Invitation:
    tenant = lock_members(find_invitation(token).tenant_id)
    # Again: another acceptance, or a withdrawal, may have held the lock.
    found = find_invitation(token)
    if tenant.suspended_at is not None:
        raise TenantSuspended
    inviter = Authority(
        user_id=found.inviter_id, key_id=found.inviting_key_id, is_operator=found.by_operator
    )
    try:
        require_reach(role_of(found.tenant_id, inviter), found.role)
    except Forbidden as error:
        raise InviterLostRight from error
    return found


def _join(invitation: Invitation, user: User, actor: Actor) -> Membership:
    known = Membership.objects.filter(tenant_id=invitation.tenant_id, user=user)
    if known.exists():
        raise Conflict("You are a member of this tenant already.", code="already_member")
    made = Membership.objects.create(
        user=user,
        tenant_id=invitation.tenant_id,
        role=invitation.role,
        sees_payloads=invitation.sees_payloads,
        created_at=database_clock.now(),
    )
    invitation.accepted_at, invitation.token_hash = database_clock.now(), None
    invitation.save(update_fields=["accepted_at", "token_hash"])
    after = {
        "role": str(made.role),
        "sees_payloads": made.sees_payloads,
        "invitation": str(invitation.id),
        "invited_by": invitation.invited_by,
    }
    audit.record(made.tenant_id, actor, "member.joined", "member", str(user.pk), after=after)
    right_changes.of_members.tell(made.tenant_id)
    return made


def _check(password: str, user: User) -> None:
    try:
        if len(password) > _LONGEST_PASSWORD:
            raise ValidationError(f"Give at most {_LONGEST_PASSWORD} characters.")
        validate_password(password, user)
    except ValidationError as error:
        message = " ".join(error.messages)
        raise InvalidInput([FieldError("#/password", "too_weak", message)], message) from error
