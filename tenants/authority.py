"""Who changes the members and keys of a tenant, and how far that reaches.

A caller's own rights may change while its call is under way. They are therefore read again under a
lock, in the transaction of the change: of two changes at once, the second one sees whether the
first took its right away.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from shared import database_clock
from shared.exceptions import Forbidden, NotFound
from shared.networks import holds
from tenants.choices import SCOPES, Role
from tenants.models import ApiKey, Membership, Tenant
from tenants.rights import Rights

_ALL = frozenset(SCOPES)
_NO_LONGER = "Your own rights have just been changed; ask again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A member by the account, an API key, a token by its rights, or the operator.

    At most one of them; an authority that names none of them may do nothing.
    """

    user_id: int | None = None
    key_id: UUID | None = None
    #: Of a token: what its issuer has signed, until it ends.
    token: Rights | None = None
    is_operator: bool = False


#: The operator of the installation, who may do everything: commands and the admin.
OPERATOR = Authority(is_operator=True)


def lock_members(tenant_id: UUID) -> Tenant:
    """Lock the tenant's members until the transaction ends; raise NotFound."""
    # The race: two owners who demote each other at once would leave the tenant without one.
    tenant = Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    if tenant is None:
        raise NotFound("There is no such tenant.")
    return tenant


def lock_rights(
    tenant_id: UUID,
    by: Authority,
    *,
    address: str | None = None,
    key_id: UUID | None = None,
) -> tuple[Rights | None, ApiKey | None]:
    """Return the authority's rights, None for all of them, and the key; both locked until the end.

    ``address`` is where the call comes from; None for a change that an authority has asked for
    earlier. Raise NotFound for a key that the tenant does not have, Forbidden for an authority
    that lacks the right, or has lost it.
    """
    keys = _locked_keys(tenant_id, {one for one in (by.key_id, key_id) if one is not None})
    if key_id is not None and key_id not in keys:
        raise NotFound("There is no such API key.")
    target = keys[key_id] if key_id is not None else None
    if by.is_operator:
        return None, target
    if by.token is not None:
        return by.token, target
    if by.user_id is not None:
        return _rights_of_member(tenant_id, by.user_id), target
    own = keys.get(by.key_id) if by.key_id is not None else None
    if own is None or "admin" not in own.scopes or not own.is_valid_at(database_clock.now()):
        raise Forbidden(_NO_LONGER)
    if address is not None and not holds(own.addresses, address):
        raise Forbidden(_NO_LONGER)
    return rights_of(own), target


def rights_of(key: ApiKey) -> Rights:
    """Return the rights of a key."""
    return Rights(frozenset(key.scopes), key.owner, key.expires_at, tuple(key.addresses))


def role_of(tenant_id: UUID, authority: Authority) -> Role:
    """Return the role with which the authority manages members now: owner or admin.

    Raise Forbidden where it may not manage them, or no longer; a token never may.
    """
    try:
        rights, _ = lock_rights(tenant_id, authority)
    except Forbidden as error:
        raise _manages_no_members() from error
    if authority.token is not None:
        raise _manages_no_members()
    return Role.OWNER if rights is None or rights.owner else Role.ADMIN


def require_reach(held: Role, *roles: str) -> None:
    """Raise Forbidden where the holder of a role may not give, change or take one of the roles."""
    if held is not Role.OWNER and Role.OWNER in roles:
        raise Forbidden("Only an owner, or an owner's key, may make, change or remove an owner.")


def _manages_no_members() -> Forbidden:
    return Forbidden("Only admins, owners and keys with the scope 'admin' manage members.")


def _locked_keys(tenant_id: UUID, ids: set[UUID]) -> dict[UUID, ApiKey]:
    if not ids:
        return {}
    # In the order of their ids: two keys that change each other must not wait for each other.
    found = ApiKey.objects.select_for_update(no_key=True).filter(tenant_id=tenant_id, pk__in=ids)
    return {key.pk: key for key in found.order_by("pk")}


def _rights_of_member(tenant_id: UUID, user_id: int) -> Rights:
    members = Membership.objects.select_for_update(no_key=True, of=("self",))
    found = members.filter(tenant_id=tenant_id, user_id=user_id, user__is_active=True).first()
    if found is None or found.role not in (Role.ADMIN, Role.OWNER):
        raise Forbidden(_NO_LONGER)
    return Rights(_ALL, owner=found.role == Role.OWNER)
