"""Accounts of people and groups of them: who may change whose, and the audit of what was changed.

Accounts belong to no tenant, so that their entries are in the chain of the installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput
from tenants.choices import SignInEnd
from tenants.models import Membership
from tenants.services.sign_ins import end_sign_ins

#: Fields that decide what an account may do; superusers alone change them.
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")
_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
LONGEST_PASSWORD = 1000
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


def refuse_weak_password(account: User, password: str, field: str = "new_password") -> None:
    """Raise InvalidInput for a password that the validators of the settings refuse."""
    if len(password) > LONGEST_PASSWORD:
        problems = [f"Give at most {LONGEST_PASSWORD} characters."]
    else:
        try:
            validate_password(password, account)
        except ValidationError as error:
            problems = list(error.messages)
        else:
            return
    errors = [FieldError(f"#/{field}", "weak_password", problem) for problem in problems]
    raise InvalidInput(errors, " ".join(problems))


def change_password(person: User, new: str, *, actor: Actor, but: UUID | None = None) -> User:
    """Set a person's own password; all their sessions but one end. Return the changed account.

    Raise InvalidInput for a weak password or the present one, and Conflict where the password is
    another by now than that of ``person``, which the caller has checked. The password is hashed
    before the transaction: that takes long on a busy machine, and a sign-in waits for the lock.
    """
    refuse_weak_password(person, new)
    if person.check_password(new):
        message = "The new password is the present one."
        raise InvalidInput([FieldError("#/new_password", "unchanged", message)], message)
    hashed = make_password(new)
    with transaction.atomic():
        return _store_password(person, hashed, actor, but)


def _store_password(person: User, hashed: str, actor: Actor, but: UUID | None) -> User:
    account = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if account.password != person.password:
        raise Conflict("Another session has changed the password meanwhile.")
    if not account.has_usable_password() and account.identities.exists():
        # A password would outlast the account at the provider.
        raise Conflict("This account signs in by its provider; it has no password.")
    account.password = hashed
    account.save(update_fields=["password"])
    record_password(account, actor=actor)
    end_sign_ins(account.pk, SignInEnd.PASSWORD, actor=actor, but=but)
    return account


def _permissions_of(account: User) -> set[str]:
    # `get_all_permissions` is empty for an inactive account, which may become active again.
    return set(_labels(Permission.objects.filter(Q(user=account) | Q(group__user=account))))


def _labels(permissions: Any) -> list[str]:
    found = permissions.values_list("content_type__app_label", "codename").distinct()
    return sorted(f"{app}.{name}" for app, name in found)
