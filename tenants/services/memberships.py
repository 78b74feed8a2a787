"""Give people roles in tenants, change and remove the roles, and transfer ownership."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from tenants import right_changes
from tenants.authority import Authority, lock_members, require_reach, role_of
from tenants.choices import ROLES_THAT_SEE, Role, SignInEnd, sees_by_default
from tenants.models import Membership
from tenants.services.sign_ins import end_sign_ins

#: What :func:`change_member` changes.
FIELDS = ("role", "sees_payloads")


class LastOwner(Conflict):
    """The tenant would have no owner: make another member an owner first."""

    code = "last_owner"


@transaction.atomic
def set_member(
    tenant_id: UUID,
    user_id: int,
    role: str,
    *,
    actor: Actor,
    sees_payloads: bool | None = None,
) -> Membership:
    """Give the user this role in the tenant; it replaces an earlier role.

    For the operator of the installation: no owner has to be left. Raise InvalidInput.
    """
    check_rights(role, sees_payloads)
    lock_members(tenant_id)
    wanted = sees_by_default(role) if sees_payloads is None else sees_payloads
    found, created = Membership.objects.get_or_create(
        tenant_id=tenant_id,
        user_id=user_id,
        defaults={"role": role, "sees_payloads": wanted},
    )
    if created:
        audit.record(tenant_id, actor, "member.set", "member", str(user_id), after=_facts(found))
        right_changes.of_members.tell(tenant_id)
        return found
    changes: dict[str, Any] = {"role": role}
    if sees_payloads is not None:
        changes["sees_payloads"] = sees_payloads
    return _change(found, changes, actor=actor)


@transaction.atomic
def remove_member(tenant_id: UUID, user_id: int, *, actor: Actor) -> None:
    """Remove the user's role in the tenant; raise NotFound when they have none.

    For the operator of the installation: no owner has to be left.
    """
    lock_members(tenant_id)
    found = Membership.objects.filter(tenant_id=tenant_id, user_id=user_id).first()
    if found is None:
        raise NotFound("This user is no member of the tenant.")
    _remove(found, actor=actor)


def get_member(tenant_id: UUID, member_id: int) -> Membership:
    """Return the tenant's member; raise NotFound, for another tenant's too."""
    rows = Membership.objects.select_related("user")
    found = rows.filter(tenant_id=tenant_id, pk=member_id).first()
    if found is None:
        raise NotFound("There is no such member.")
    return found


@transaction.atomic
def change_member(
    tenant_id: UUID, member_id: int, changes: Mapping[str, Any], *, by: Authority, actor: Actor
) -> Membership:
    """Change a member's ``role`` or ``sees_payloads``; a role above operator brings the latter.

    Raise NotFound, Forbidden (only owners reach owners), InvalidInput, or LastOwner.
    """
    lock_members(tenant_id)
    held = role_of(tenant_id, by)
    member = get_member(tenant_id, member_id)
    role = changes.get("role", member.role)
    check_rights(role, changes.get("sees_payloads"))
    require_reach(held, member.role, role)
    if role != Role.OWNER:
        _refuse_last_owner(member)
    return _change(member, changes, actor=actor)


@transaction.atomic
def expel_member(tenant_id: UUID, member_id: int, *, by: Authority, actor: Actor) -> None:
    """Remove a member from the tenant; the account stays.

    Raise NotFound, Forbidden (only owners reach owners), or LastOwner.
    """
    lock_members(tenant_id)
    held = role_of(tenant_id, by)
    member = get_member(tenant_id, member_id)
    require_reach(held, member.role)
    _refuse_last_owner(member)
    _remove(member, actor=actor)


@transaction.atomic
def transfer_ownership(
    tenant_id: UUID,
    member_id: int,
    *,
    by: Authority,
    actor: Actor,
    from_id: int | None = None,
) -> Membership:
    """Make a member the owner in place of another one, who becomes an admin.

    ``from_id`` is the member who gives it up: by default the owner who asks, else the only one.
    Raise NotFound, Forbidden (owners only), or InvalidInput.
    """
    lock_members(tenant_id)
    require_reach(role_of(tenant_id, by), Role.OWNER)
    member = get_member(tenant_id, member_id)
    if not member.user.is_active:
        raise Conflict("This account is deactivated: choose another member.", code="inactive")
    former = _former_owner(tenant_id, by, from_id)
    if former.pk == member.pk:
        message = "Choose another member than the owner who gives the ownership up."
        raise InvalidInput([FieldError("#/from", "same_member", message)], message)
    made = _change(member, {"role": Role.OWNER.value}, actor=actor)
    _change(former, {"role": Role.ADMIN.value}, actor=actor)
    return made


def check_rights(role: str, sees_payloads: bool | None) -> None:
    """Raise InvalidInput for an unknown role, or for one that cannot lack the payloads."""
    if role not in Role.values:
        message = f"Give one of {', '.join(Role.values)}."
        raise InvalidInput([FieldError("#/role", "invalid_choice", message)], message)
    if sees_payloads is False and role in ROLES_THAT_SEE:
        message = (
            "Admins and owners always see payloads, as they decide where payloads are sent: "
            "give the role viewer or operator."
        )
        raise InvalidInput([FieldError("#/sees_payloads", "role_sees_payloads", message)], message)


def _former_owner(tenant_id: UUID, by: Authority, from_id: int | None) -> Membership:
    owners = list(Membership.objects.filter(tenant_id=tenant_id, role=Role.OWNER).order_by("pk"))
    if from_id is not None:
        named = [one for one in owners if one.pk == from_id]
    else:
        named = [one for one in owners if one.user_id == by.user_id] or owners
    if len(named) == 1:
        return named[0]
    message = (
        "This member is no owner." if from_id is not None else "Name the owner who gives it up."
    )
    raise InvalidInput([FieldError("#/from", "not_an_owner", message)], message)


def _refuse_last_owner(member: Membership) -> None:
    """Raise LastOwner where no other owner can sign in."""
    if member.role != Role.OWNER:
        return
    others = Membership.objects.filter(
        tenant_id=member.tenant_id, role=Role.OWNER, user__is_active=True
    ).exclude(pk=member.pk)
    if not others.exists():
        raise LastOwner


def _change(member: Membership, changes: Mapping[str, Any], *, actor: Actor) -> Membership:
    before = _facts(member)
    for name in FIELDS:
        if name in changes:
            setattr(member, name, changes[name])
    if member.role in ROLES_THAT_SEE:
        member.sees_payloads = True
    after = _facts(member)
    if after == before:
        return member
    member.save(update_fields=FIELDS)
    changed = {name for name in FIELDS if before[name] != after[name]}
    audit.record(
        member.tenant_id,
        actor,
        "member.set",
        "member",
        str(member.user_id),
        before={name: before[name] for name in FIELDS if name in changed},
        after={name: after[name] for name in FIELDS if name in changed},
    )
    right_changes.of_members.tell(member.tenant_id)
    return member


def _remove(member: Membership, *, actor: Actor) -> None:
    tenant_id, user_id, before = member.tenant_id, member.user_id, _facts(member)
    # The race: what is made for the member meanwhile goes with them, or finds no member.
    list(Membership.objects.select_for_update().filter(pk=member.pk).values_list("pk"))
    member.delete()
    audit.record(tenant_id, actor, "member.removed", "member", str(user_id), before=before)
    right_changes.of_members.tell(tenant_id)
    others = Membership.objects.filter(user_id=user_id)
    if not others.exists() and not User.objects.filter(pk=user_id, is_staff=True).exists():
        # What is left to the person is their own account: for that they sign in again.
        end_sign_ins(user_id, SignInEnd.ENDED, actor=actor)


def _facts(member: Membership) -> dict[str, Any]:
    return {"role": str(member.role), "sees_payloads": member.sees_payloads}
