"""Members and invitations as tests make them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from shared.actor import COMMAND
from tenants.authority import OPERATOR, Authority
from tenants.models import Invitation, Membership, Tenant
from tenants.services.invitations import invite_member, issue_token

ADDRESS = "ada@example.com"
PASSWORD = "a long password of hers"


def join(tenant: Tenant, name: str, role: str, **parts: Any) -> Membership:
    """Return a new member of the tenant."""
    user, _ = User.objects.get_or_create(username=name, email=f"{name}@example.com")
    return Membership.objects.create(user=user, tenant=tenant, role=role, **parts)


def by(member: Membership) -> Authority:
    """Return the member as the one who acts."""
    return Authority(user_id=member.user_id)


def invite(tenant: Tenant, **parts: Any) -> Invitation:
    """Return an open offer by the operator: to ada, as viewer, unless told."""
    wanted = {"email": ADDRESS, "role": "viewer", "by": OPERATOR, "actor": COMMAND, **parts}
    return invite_member(tenant.id, **wanted)


def invited(tenant: Tenant, **parts: Any) -> tuple[Invitation, str]:
    """Return an open offer and its token."""
    issued = issue_token(invite(tenant, **parts).id)
    assert issued is not None
    return issued
