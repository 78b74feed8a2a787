"""Create, find, change, suspend and resume tenants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, VersionMismatch
from shared.hidden_characters import hidden_problem
from tenants import right_changes
from tenants.models import Tenant
from tenants.models.tenant import (
    MAX_IDEMPOTENCY_SECONDS,
    MAX_JITTER_SECONDS,
    MIN_IDEMPOTENCY_SECONDS,
)
from tenants.quotas import counters, known
from tenants.services.data_keys import add_data_key
from tenants.services.provider_sign_in import require_way_in
from tenants.services.signing_secrets import add_signing_secret
from tenants.suspension import tell_resumed, tell_suspended

#: Settings of a tenant that may be changed.
SETTINGS = (
    "default_jitter_seconds",
    "idempotency_required",
    "idempotency_seconds",
    "provider_required",
    "second_factor_required",
    "unlimited",
)


#: Those that decide which sessions of members see the tenant.
_OF_SIGN_IN = frozenset({"provider_required", "second_factor_required"})


@transaction.atomic
def create_tenant(name: str, *, actor: Actor, unlimited: bool = False) -> Tenant:
    """Create a tenant with its first signing secret; raise Conflict when the name is taken."""
    if not name.strip() or len(name) > 200 or "\x00" in name:
        message = "A tenant's name has 1 to 200 characters."
        raise InvalidInput([FieldError("#/name", "invalid", message)], message)
    if problem := hidden_problem(name):
        raise InvalidInput([FieldError("#/name", *problem)], problem[1])
    tenant = Tenant(name=name, unlimited=unlimited)
    # The insert decides, not a check before it: two creators of one name may come at once.
    Tenant.objects.bulk_create([tenant], ignore_conflicts=True)
    created = Tenant.objects.filter(pk=tenant.pk).first()
    if created is None:
        raise Conflict(f"There is a tenant named {name!r} already.", code="name_taken")
    # First: what follows is sealed under it.
    add_data_key(created.id)
    add_signing_secret(created)
    after = {"name": name, "unlimited": unlimited}
    audit.record(created.id, actor, "tenant.created", "tenant", created.id, after=after)
    return created


def get_tenant(name_or_id: str) -> Tenant:
    """Return the tenant of this name or id; raise NotFound."""
    found = Tenant.objects.filter(name=name_or_id).first()
    if found is None:
        try:
            found = Tenant.objects.filter(pk=UUID(name_or_id)).first()
        except ValueError:
            found = None
    if found is None:
        raise NotFound(f"There is no tenant {name_or_id!r}.")
    return found


@transaction.atomic
def change_tenant(
    tenant_id: UUID,
    settings: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> Tenant:
    """Change a tenant's settings, those of ``SETTINGS``.

    Raise NotFound, InvalidInput, VersionMismatch (``expected_version``), or NoWayIn where members
    are to sign in by a provider and no owner could.
    """
    unknown = set(settings) - set(SETTINGS)
    if unknown:
        raise InvalidInput([FieldError(f"#/{name}", "unknown", "Unknown.") for name in unknown])
    tenant = _locked(tenant_id)
    if expected_version is not None and expected_version != tenant.version:
        raise VersionMismatch(
            f"The settings are at version {tenant.version}, not {expected_version}; "
            "read them again."
        )
    before = {name: getattr(tenant, name) for name in settings}
    if before == dict(settings):
        return tenant
    for name, value in settings.items():
        setattr(tenant, name, value)
    _refuse_bad_seconds(tenant)
    if tenant.provider_required and not before.get("provider_required", True):
        require_way_in(tenant, by_command=actor.is_command)
    tenant.version += 1
    tenant.save(update_fields=[*settings, "version"])
    transaction.on_commit(lambda: known.forget(tenant_id))
    if settings.keys() & _OF_SIGN_IN:
        # What a session of before holds open may have to end.
        right_changes.of_members.tell(tenant_id)
    if "unlimited" in settings:
        transaction.on_commit(lambda: counters.forget(tenant_id))
    audit.record(
        tenant_id, actor, "tenant.changed", "tenant", tenant_id, before=before, after=settings
    )
    return tenant


@transaction.atomic
def suspend_tenant(tenant_id: UUID, *, actor: Actor) -> Tenant:
    """Suspend a tenant: its keys get 403, and no execution starts; running ones may finish.

    A suspended tenant stays suspended; missing parts of its suspension, as from an older version,
    are added. Raise NotFound, or Unavailable, changing nothing, when released work exists and Redis
    cannot be asked about it.
    """
    tenant = _locked(tenant_id)
    one = Tenant.objects.filter(pk=tenant_id)
    first = bool(one.filter(suspended_at=None).update(suspended_at=Now()))
    tenant.refresh_from_db()
    tell_suspended(tenant_id, actor)
    if first:
        audit.record(tenant_id, actor, "tenant.suspended", "tenant", tenant_id)
    return tenant


@transaction.atomic
def resume_tenant(tenant_id: UUID, *, actor: Actor) -> Tenant:
    """End a tenant's suspension; each task's misfire policy decides on its instants.

    A tenant that is not suspended stays as it is. Raise NotFound.
    """
    tenant = _locked(tenant_id)
    one = Tenant.objects.filter(pk=tenant_id)
    if one.exclude(suspended_at=None).update(suspended_at=None):
        tenant.refresh_from_db()
        tell_resumed(tenant_id, actor)
        audit.record(tenant_id, actor, "tenant.resumed", "tenant", tenant_id)
    return tenant


def _locked(tenant_id: UUID) -> Tenant:
    tenant = Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    if tenant is None:
        raise NotFound("There is no such tenant.")
    return tenant


def _refuse_bad_seconds(tenant: Tenant) -> None:
    for name, low, high in (
        ("idempotency_seconds", MIN_IDEMPOTENCY_SECONDS, MAX_IDEMPOTENCY_SECONDS),
        ("default_jitter_seconds", 0, MAX_JITTER_SECONDS),
    ):
        # NaN is refused, too: it is not within any bounds.
        if not low <= getattr(tenant, name) <= high:
            message = f"Give {low} to {high} seconds."
            raise InvalidInput([FieldError(f"#/{name}", "out_of_range", message)], message)
