"""Create, find, revoke and rotate API keys; only the creator of a key learns its text."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from tenants.choices import SCOPES
from tenants.models import ApiKey, Tenant

PREFIX_LENGTH = 12
_GIVEN_KEY = re.compile(r"[!-~]{32,128}")
_PREFIX_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def hash_key(key: str) -> bytes:
    """Return the stored hash of a key. Plain SHA-256: keys are long and random, not passwords."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


@transaction.atomic
def create_api_key(
    tenant: Tenant,
    *,
    name: str,
    scopes: Sequence[str],
    actor: Actor,
    owner: bool = False,
    expires_at: datetime | None = None,
    key: str | None = None,
) -> tuple[ApiKey, str]:
    """Create a key and return it with its text, which cannot be read again.

    A given ``key`` (BOOTSTRAP_API_KEY) is taken exactly as it is: 32 to 128 visible characters.
    """
    _check(scopes, expires_at, key)
    if key is None:
        prefix = "pk_" + "".join(secrets.choice(_PREFIX_LETTERS) for _ in range(9))
        key = f"{prefix}_{secrets.token_urlsafe(32)}"
    made = ApiKey(
        tenant=tenant,
        name=name,
        prefix=key[:PREFIX_LENGTH],
        key_hash=hash_key(key),
        scopes=_in_order(scopes),
        owner=owner,
        expires_at=expires_at,
        created_at=timezone.now(),
    )
    # The insert decides, not a check before it: two processes may add the same key at once.
    ApiKey.objects.bulk_create([made], ignore_conflicts=True)
    if not ApiKey.objects.filter(pk=made.pk).exists():
        raise Conflict("This key is in use already.", code="key_taken")
    audit.record(tenant.id, actor, "api_key.created", "api_key", made.id, after=_facts(made))
    return made, key


def get_api_key(tenant_id: UUID, key_id: UUID, *, lock: bool = False) -> ApiKey:
    """Return the tenant's key; raise NotFound, for another tenant's too."""
    keys = ApiKey.objects.filter(tenant_id=tenant_id, pk=key_id)
    # The race: of two revocations at once, both would be recorded as the one that took effect.
    found = (keys.select_for_update(no_key=True) if lock else keys).first()
    if found is None:
        raise NotFound("There is no such API key.")
    return found


@transaction.atomic
def revoke_api_key(tenant_id: UUID, key_id: UUID, *, actor: Actor) -> ApiKey:
    """Make a key invalid from now on; a key that is revoked already stays as it is."""
    key = get_api_key(tenant_id, key_id, lock=True)
    if key.revoked_at is None:
        key.revoked_at = timezone.now()
        key.save(update_fields=["revoked_at"])
        after = {"revoked_at": key.revoked_at}
        audit.record(tenant_id, actor, "api_key.revoked", "api_key", key.id, after=after)
    return key


@transaction.atomic
def rotate_api_key(
    tenant_id: UUID,
    key_id: UUID,
    *,
    actor: Actor,
    overlap_seconds: int = 24 * 3600,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Create a key like the old one, which stays valid for the overlap.

    The new key ends when the old one was to end, unless ``expires_at`` gives it another end.
    """
    old = get_api_key(tenant_id, key_id, lock=True)
    now = timezone.now()
    if not old.is_valid_at(now):
        raise Conflict("Only a valid key can be rotated.", code="key_not_valid")
    ends_at = now + timedelta(seconds=overlap_seconds)
    made = create_api_key(
        old.tenant,
        name=old.name,
        scopes=old.scopes,
        owner=old.owner,
        expires_at=expires_at or old.expires_at,
        actor=actor,
    )
    if old.expires_at is None or old.expires_at > ends_at:
        old.expires_at = ends_at
        old.save(update_fields=["expires_at"])
    after = {"replaced_by": made[0].id, "expires_at": old.expires_at}
    audit.record(tenant_id, actor, "api_key.rotated", "api_key", old.id, after=after)
    return made


def _check(scopes: Sequence[str], expires_at: datetime | None, key: str | None) -> None:
    errors = []
    if not scopes or not set(scopes) <= set(SCOPES):
        message = f"Give at least one of {', '.join(SCOPES)}."
        errors.append(FieldError("#/scopes", "invalid_choice", message))
    if expires_at is not None and expires_at <= timezone.now():
        errors.append(FieldError("#/expires_at", "in_the_past", "This time is past."))
    if key is not None and not _GIVEN_KEY.fullmatch(key):
        message = "A given key has 32 to 128 visible characters."
        errors.append(FieldError("#/key", "invalid", message))
    if errors:
        raise InvalidInput(errors)


def _in_order(scopes: Iterable[str]) -> list[str]:
    return [scope for scope in SCOPES if scope in set(scopes)]


def _facts(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "owner": key.owner,
        "expires_at": key.expires_at,
    }
