"""Accounts of people and groups of them: who may change whose, and the audit of what was changed.

Accounts belong to no tenant, so that their entries are in the chain of the installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q

from events import audit
from shared.actor import Actor
from tenants.models import Membership

#: Fields that decide what an account may do; superusers alone change them.
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")
_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
_CHANGE_MEMBERSHIP = "tenants.change_membership"


def may_change_account(person: User, account: User) -> bool:
    """Return whether the person may change or delete the account, or set its password.

    A person who sets an account's password can sign in as it. So the account may have no rights
    beyond the person's: it is no superuser, has no further permissions, and roles in tenants only
    where the person may give roles.
    """
    if person.is_superuser or person.pk == account.pk:
        return True
    if account.is_superuser or not _permissions_of(account) <= person.get_all_permissions():
        return False
    has_roles = Membership.objects.filter(user=account).exists()
    return not has_roles or person.has_perm(_CHANGE_MEMBERSHIP)


def describe_account(account: User) -> dict[str, Any]:
    """Return what the audit keeps of an account: everything but the password."""
    return {
        **{name: getattr(account, name) for name in _FIELDS},
        "groups": sorted(account.groups.values_list("name", flat=True)),
        "user_permissions": _labels(account.user_permissions.all()),
    }


def describe_group(group: Group) -> dict[str, Any]:
    """Return what the audit keeps of a group."""
    return {"name": group.name, "permissions": _labels(group.permissions.all())}


def record_change(
    kind: str,
    object_id: int,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    actor: Actor,
) -> None:
    """Record that a ``user`` or ``group`` was created, changed or deleted; only what differs."""
    verb = "created" if before is None else "deleted" if after is None else "changed"
    if before is not None and after is not None:
        changed = [name for name in after if before.get(name) != after[name]]
        if not changed:
            return
        before = {name: before.get(name) for name in changed}
        after = {name: after[name] for name in changed}
    audit.record(audit.INSTALLATION, actor, f"{kind}.{verb}", kind, str(object_id), before, after)


def record_password(account: User, *, actor: Actor) -> None:
    """Record that an actor set an account's password, or removed it."""
    after = {"can_sign_in_by_password": account.has_usable_password()}
    audit.record(
        audit.INSTALLATION, actor, "user.password_set", "user", str(account.pk), after=after
    )


def _permissions_of(account: User) -> set[str]:
    # `get_all_permissions` is empty for an inactive account, which may become active again.
    return set(_labels(Permission.objects.filter(Q(user=account) | Q(group__user=account))))


def _labels(permissions: Any) -> list[str]:
    found = permissions.values_list("content_type__app_label", "codename").distinct()
    return sorted(f"{app}.{name}" for app, name in found)
