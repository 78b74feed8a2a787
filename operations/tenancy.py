"""Chooses the tenant that a command works for: the named one, or the only one.

Commands that change many things at once call this, so that none acts on the wrong tenant.
"""

from __future__ import annotations

from django.db.models import Q

from shared.commands import wrong_use
from shared.exceptions import NotFound
from tenants.models import Membership, Tenant
from tenants.services import get_tenant


def chosen_tenant(name: str | None) -> Tenant:
    """Return the tenant of ``--tenant``, or the only one; raise InvalidInput if there are more."""
    if name is not None:
        return get_tenant(name)
    found = list(Tenant.objects.order_by("name")[:2])
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound("There is no tenant. Make one with `manage.py tenant create NAME`.")
    raise wrong_use("--tenant", "there are several tenants; name one.")


def find_member(tenant: Tenant, text: str) -> Membership:
    """Return the tenant's member of this account name, address or number; raise NotFound."""
    named = Q(user__username=text) | Q(user__email__iexact=text)
    if text.isascii() and text.isdecimal() and len(text) < 19:
        named |= Q(pk=int(text))
    found = list(Membership.objects.filter(named, tenant=tenant).select_related("user")[:2])
    if not found:
        raise NotFound(f"There is no member {text!r}.")
    if len(found) > 1:
        raise wrong_use("member", "more than one member is called so; give the id")
    return found[0]
