"""Named secrets of a tenant: written, changed and removed; no function returns a value.

Each change has its audit entry, without the value. A value cannot be read again, so a change that
lets a secret go to further places must write the value anew: who may change bindings, and does not
know the value, cannot send it to a place of the own choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from events import audit
from shared import database_clock
from shared.actor import Actor
from shared.encryption import DecryptionFailed
from shared.exceptions import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from shared.named_secrets.bindings import ANY, Binding
from shared.named_secrets.sealed import Former, open_secret, seal_secret
from tasks.kept_secrets import REFUSED_CODE
from tasks.limits import NAMED_SECRETS
from tasks.models import NamedSecret
from tasks.named_secrets import uses
from tasks.named_secrets.content import read_changes, read_new
from tenants.models import Tenant

_KIND = "secret"
_NAMED_IN_ERROR = 5


def list_secrets(tenant_id: UUID) -> QuerySet[NamedSecret]:
    """Return the tenant's secrets by name, without their sealed values."""
    return NamedSecret.objects.filter(tenant_id=tenant_id).defer("sealed").order_by("name")


def get_secret(tenant_id: UUID, name: str) -> NamedSecret:
    """Return a secret of the tenant by its name; raise NotFound."""
    found = list_secrets(tenant_id).filter(name=name).first()
    if found is None:
        raise NotFound("There is no such secret.")
    return found


@transaction.atomic
def create_secret(tenant_id: UUID, body: Mapping[str, Any], *, actor: Actor) -> NamedSecret:
    """Write a new secret.

    Raise InvalidInput, Conflict ``secret_exists`` for a name that is taken, and QuotaExceeded.
    """
    content = read_new(body)
    name, value = content.name or "", content.value or ""
    binding = content.binding(Binding())
    # The race: two sessions would each count one less than there is room for.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)
    if NamedSecret.objects.filter(tenant_id=tenant_id).count() >= NAMED_SECRETS:
        raise QuotaExceeded(f"A tenant has at most {NAMED_SECRETS} secrets.")
    made = NamedSecret(
        tenant_id=tenant_id,
        name=name,
        sealed=seal_secret(tenant_id, name, value, binding),
        hosts=list(binding.hosts),
        commands=list(binding.commands),
        changed_by=actor.name[:200],
    )
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError as error:
        message = f"There is a secret {name!r} already."
        raise Conflict(message, code="secret_exists") from error
    audit.record(tenant_id, actor, "secret.created", _KIND, made.id, after=_facts(made))
    return get_secret(tenant_id, name)


@transaction.atomic
def change_secret(
    tenant_id: UUID,
    name: str,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> NamedSecret:
    """Give a secret another value, another binding, or both; what is left out stays.

    All tasks that name it use the new value from their next start. Raise NotFound, InvalidInput,
    with the code ``secret_required`` for further places without the value, and VersionMismatch.
    """
    content = read_changes(body)
    secret = _locked(tenant_id, name, stays=True)
    if expected_version is not None and expected_version != secret.version:
        raise VersionMismatch(
            f"The secret is at version {secret.version}, not {expected_version}; read it again."
        )
    before, old = _facts(secret), Binding(tuple(secret.hosts), tuple(secret.commands))
    binding = content.binding(old)
    if content.value is None:
        if binding == old:
            return get_secret(tenant_id, name)
        _refuse_wider(old, binding)
    if not binding.hosts and not binding.commands:
        message = "Say where the secret may go: at least one host or command."
        raise InvalidInput([FieldError("#/hosts", "required", message)])
    if content.value is None:
        opened = open_secret(secret.sealed, tenant_id, name)
        value, former = opened.value, opened.former
    else:
        value, former = content.value, _former(secret)
        secret.written_at = Now()
    secret.sealed = seal_secret(tenant_id, name, value, binding, former)
    secret.hosts, secret.commands = list(binding.hosts), list(binding.commands)
    secret.version += 1
    secret.changed_by = actor.name[:200]
    secret.save()
    after = {**_facts(secret), "value_replaced": content.value is not None}
    audit.record(tenant_id, actor, "secret.updated", _KIND, secret.id, before, after)
    return get_secret(tenant_id, name)


@transaction.atomic
def remove_secret(tenant_id: UUID, name: str, *, actor: Actor) -> None:
    """Remove a secret; raise Conflict ``secret_in_use`` that names the tasks that use it.

    A task uses it while its current version names it and the task has not ended.
    """
    secret = _locked(tenant_id, name)
    count = uses.counts_of([secret.id]).get(secret.id, 0)
    if count:
        users = uses.users_of([secret.id]).get(secret.id, [])
        named = ", ".join(f"{one.name} ({one.id})" for one in users[:_NAMED_IN_ERROR])
        further = f" and {count - _NAMED_IN_ERROR} more" if count > _NAMED_IN_ERROR else ""
        tasks = "1 task uses" if count == 1 else f"{count} tasks use"
        message = f"{tasks} this secret: {named}{further}. Take it out of them first."
        raise Conflict(message, code="secret_in_use")
    secret_id, facts = secret.id, _facts(secret)
    secret.delete()
    audit.record(tenant_id, actor, "secret.removed", _KIND, secret_id, before=facts)


def _locked(tenant_id: UUID, name: str, *, stays: bool = False) -> NamedSecret:
    # Tasks that begin to use it wait for a removal only, and then find it gone. A change does not
    # concern them: one that waits for the audit of a transaction of theirs would be a deadlock.
    locked = NamedSecret.objects.select_for_update(no_key=stays)
    found = locked.filter(tenant_id=tenant_id, name=name).first()
    if found is None:
        raise NotFound("There is no such secret.")
    return found


def _former(secret: NamedSecret) -> Sequence[Former]:
    """Return the values to be masked beside the one that replaces the present one now."""
    try:
        opened = open_secret(secret.sealed, secret.tenant_id, secret.name)
    except DecryptionFailed:
        # Its key is gone: no run can have been sent the value lately.
        return ()
    return opened.replaced(database_clock.now())


def _refuse_wider(old: Binding, binding: Binding) -> None:
    errors = []
    for key, before, after in (
        ("hosts", old.hosts, binding.hosts),
        ("commands", old.commands, binding.commands),
    ):
        if ANY not in before and set(after) - set(before):
            message = f"Write the value anew: it does not follow into further {key}."
            errors.append(FieldError("#/value", REFUSED_CODE, message))
    if errors:
        raise InvalidInput(errors[:1], errors[0].message)


def _facts(secret: NamedSecret) -> dict[str, Any]:
    """Return what the audit log keeps of a secret."""
    return {
        "name": secret.name,
        "hosts": secret.hosts,
        "commands": secret.commands,
        "version": secret.version,
    }
