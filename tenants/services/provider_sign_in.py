"""Tenants whose members sign in by an OpenID provider only.

A session that began by a password, or by an invitation, sees nothing of such a tenant; other
tenants of the person stay open to it. A one-time link is the way back: the operator makes it. Keys
and tokens of programs are not affected.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q

from shared import tenant_scope
from shared.conf import conf
from shared.exceptions import Conflict
from shared.tenant_scope import Purpose
from tenants.choices import Role, SignInMethod
from tenants.models import Identity, Membership, Tenant

#: The first proofs that open every tenant.
_OPENS_ALL = frozenset({SignInMethod.OIDC, SignInMethod.OIDC_MFA, SignInMethod.LINK})
_BY_PROVIDER = frozenset({SignInMethod.OIDC, SignInMethod.OIDC_MFA})


class NoWayIn(Conflict):
    """No owner has signed in by an OpenID provider yet: all members would be locked out."""

    code = "no_way_in"


def open_to(method: str) -> Q:
    """Return what memberships fulfil whose tenant is open to a session that began by this proof."""
    return Q() if method in _OPENS_ALL else Q(tenant__provider_required=False)


def is_by_provider(method: str) -> bool:
    """Return whether a session began by an OpenID provider."""
    return method in _BY_PROVIDER


def refuses_password(user: User) -> bool:
    """Return whether a password signs this person in nowhere: all their tenants want a provider.

    Operators (staff, superusers) are never refused: they have pages beside those of tenants.
    """
    if user.is_staff or user.is_superuser:
        return False
    with tenant_scope.across(Purpose.SIGN_IN):
        found = Membership.objects.filter(user=user, tenant__suspended_at=None)
        wanted = set(found.values_list("tenant__provider_required", flat=True))
    return wanted == {True}


def require_way_in(tenant: Tenant, *, by_command: bool = False) -> None:
    """Raise NoWayIn unless an owner has an identity at a provider that this process knows of.

    Commands may run without the settings of the providers: then any identity counts for them.
    """
    issuers = [one.issuer for one in conf().oidc_providers]
    if not issuers and not by_command:
        raise NoWayIn("No OpenID provider is set up here: all members would be locked out.")
    owners = Membership.objects.filter(
        tenant_id=tenant.pk, role=Role.OWNER, user__is_active=True
    ).values_list("user_id", flat=True)
    found = Identity.objects.filter(user_id__in=list(owners))
    if issuers:
        found = found.filter(issuer__in=issuers)
    if not found.exists():
        raise NoWayIn
