"""Give people roles in tenants, and remove the roles."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound
from tenants.choices import Role
from tenants.models import Membership


@transaction.atomic
def set_member(tenant_id: UUID, user_id: int, role: str, *, actor: Actor) -> Membership:
    """Give the user this role in the tenant; it replaces an earlier role."""
    if role not in Role.values:
        message = f"Give one of {', '.join(Role.values)}."
        raise InvalidInput([FieldError("#/role", "invalid_choice", message)], message)
    rows = Membership.objects.select_for_update(no_key=True)
    found, created = rows.get_or_create(
        tenant_id=tenant_id, user_id=user_id, defaults={"role": role}
    )
    before = None if created else {"role": found.role}
    if not created and found.role == role:
        return found
    found.role = role
    found.save(update_fields=["role"])
    audit.record(
        tenant_id,
        actor,
        "member.set",
        "member",
        str(user_id),
        before=before,
        after={"role": role},
    )
    return found


@transaction.atomic
def remove_member(tenant_id: UUID, user_id: int, *, actor: Actor) -> None:
    """Remove the user's role in the tenant; raise NotFound when they have none."""
    rows = Membership.objects.select_for_update().filter(tenant_id=tenant_id, user_id=user_id)
    found = rows.first()
    if found is None:
        raise NotFound("This user is no member of the tenant.")
    before = {"role": found.role}
    found.delete()
    audit.record(tenant_id, actor, "member.removed", "member", str(user_id), before=before)
