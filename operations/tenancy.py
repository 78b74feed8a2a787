"""Chooses the tenant that a command works for: the named one, or the only one.

Commands that change many things at once call this, so that none acts on the wrong tenant.
"""

from __future__ import annotations

from shared.commands import wrong_use
from shared.exceptions import NotFound
from tenants.models import Tenant
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
