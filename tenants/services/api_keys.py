"""Create, find, edit, revoke and rotate API keys; only the creator of a key learns its text.

Each change compares its caller's rights with the key as it was and as it will be, under a lock.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Q

from events import audit
from shared import database_clock
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.hidden_characters import hidden_problem
from shared.networks import read_networks
from tenants import right_changes
from tenants.authority import Authority, lock_rights, rights_of
from tenants.choices import SCOPES, SCOPES_THAT_SEE
from tenants.models import ApiKey, Tenant
from tenants.rights import Rights, require_no_more, require_not_stronger

PREFIX_LENGTH = 12
#: How long a rotated key may stay valid, and how long it does unless told.
MAX_OVERLAP_SECONDS = 7 * 24 * 3600
DEFAULT_OVERLAP_SECONDS = 24 * 3600
#: Characters of a name.
LONGEST_NAME = 200
#: The most valid keys of a tenant.
MOST_KEYS = 1000
#: The fields that an edit may change.
EDITABLE = ("name", "scopes", "addresses", "expires_at")
_GIVEN_KEY = re.compile(r"[!-~]{32,128}")
_PREFIX_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def hash_key(key: str) -> bytes:
    """Return the stored hash of a key. Plain SHA-256: keys are long and random, not passwords."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


@transaction.atomic
def create_api_key(  # noqa: PLR0913 - every door names each of them; none belongs to another
    tenant: Tenant,
    *,
    name: str,
    scopes: Sequence[str],
    actor: Actor,
    owner: bool = False,
    sees_payloads: bool = True,
    expires_at: datetime | None = None,
    addresses: Sequence[str] = (),
    key: str | None = None,
    by: Authority,
) -> tuple[ApiKey, str]:
    """Create a key and return it with its text, which cannot be read again.

    A given ``key`` (BOOTSTRAP_API_KEY) is taken exactly as it is: 32 to 128 visible characters.
    Raise InvalidInput, Forbidden where the key would have a right that ``by`` lacks, Conflict
    ``key_taken`` or ``too_many_keys``.
    """
    _refuse_too_many(tenant.pk)
    own, _ = lock_rights(tenant.pk, by, address=actor.address)
    _check_name(tenant, name)
    wanted = _New(name, scopes, owner, sees_payloads, expires_at, read_networks(addresses))
    return _make(tenant, own, wanted, actor=actor, key=key)


def get_api_key(tenant_id: UUID, key_id: UUID) -> ApiKey:
    """Return the tenant's key; raise NotFound, for another tenant's too."""
    found = ApiKey.objects.filter(tenant_id=tenant_id, pk=key_id).first()
    if found is None:
        raise NotFound("There is no such API key.")
    return found


def state_of(key: ApiKey) -> str:
    """Return a text that changes whenever an edit or a rotation changes the key."""
    return hashlib.sha256(orjson.dumps(_facts(key))).hexdigest()


@transaction.atomic
def edit_api_key(
    tenant_id: UUID,
    key_id: UUID,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    by: Authority,
    seen: str = "",
) -> ApiKey:
    """Change name, scopes, addresses or end of a valid key; open sockets follow at once.

    ``seen`` is the :func:`state_of` the key that the changer looked at, if it looked. Raise
    InvalidInput, NotFound, Conflict ``key_not_valid``, or ``key_changed`` for a key that is no
    longer as seen, Forbidden for a key that is stronger than its changer, or would get a right that
    its changer lacks.
    """
    own, key = _locked_key(tenant_id, by, actor, key_id)
    _require_valid(key)
    if seen and seen != state_of(key):
        message = "This key has been changed in the meantime. Open it again, then change it."
        raise Conflict(message, code="key_changed")
    before, had = _facts(key), rights_of(key)
    values = _read_changes(key, changes)
    if "name" in values:
        _check_name(key.tenant, values["name"])
    for field, value in values.items():
        setattr(key, field, value)
    _check_sight(key)
    if own is not None and rights_of(key).widens(had):
        require_no_more(own, rights_of(key))
    after = _facts(key)
    changed = [field for field in values if before[field] != after[field]]
    if changed:
        key.save(update_fields=changed)
        audit.record(
            tenant_id,
            actor,
            "api_key.updated",
            "api_key",
            key.id,
            before={field: before[field] for field in changed},
            after={field: after[field] for field in changed},
        )
        right_changes.of_keys.tell(key.id)
    return key


@transaction.atomic
def revoke_api_key(tenant_id: UUID, key_id: UUID, *, actor: Actor, by: Authority) -> ApiKey:
    """Make a key invalid from now on; a key that is revoked already stays as it is.

    Raise NotFound, or Forbidden for a key that is stronger than its revoker.
    """
    _, key = _locked_key(tenant_id, by, actor, key_id)
    if key.revoked_at is None:
        key.revoked_at = database_clock.now()
        key.save(update_fields=["revoked_at"])
        after = {"revoked_at": key.revoked_at}
        audit.record(tenant_id, actor, "api_key.revoked", "api_key", key.id, after=after)
        right_changes.of_keys.tell(key.id)
    return key


@transaction.atomic
def rotate_api_key(
    tenant_id: UUID,
    key_id: UUID,
    *,
    actor: Actor,
    overlap_seconds: int = DEFAULT_OVERLAP_SECONDS,
    expires_at: datetime | None = None,
    by: Authority,
) -> tuple[ApiKey, str]:
    """Create a key like the old one, which stays valid for the overlap and names its successor.

    The new key ends when the old one was to end, unless ``expires_at`` gives it another end.
    Raise InvalidInput, NotFound, Forbidden as :func:`create_api_key` and :func:`edit_api_key` do,
    Conflict ``key_not_valid``, or ``key_rotated`` for a key that has a successor.
    """
    if not 0 <= overlap_seconds <= MAX_OVERLAP_SECONDS:
        message = f"The old key may stay valid for 0 to {MAX_OVERLAP_SECONDS} seconds (7 days)."
        raise InvalidInput([FieldError("#/overlap_seconds", "out_of_range", message)], message)
    _refuse_too_many(tenant_id)
    own, old = _locked_key(tenant_id, by, actor, key_id)
    _require_valid(old)
    if old.replaced_by is not None:
        message = f"This key has been rotated already; its successor is {old.replaced_by}."
        raise Conflict(message, code="key_rotated")
    end = expires_at or old.expires_at
    wanted = _New(old.name, old.scopes, old.owner, old.sees_payloads, end, old.addresses)
    made = _make(old.tenant, own, wanted, actor=actor)
    ends_at = database_clock.now() + timedelta(seconds=overlap_seconds)
    old.expires_at = min(ends_at, old.expires_at or ends_at)
    old.replaced_by = made[0].pk
    old.save(update_fields=["expires_at", "replaced_by"])
    after = {"replaced_by": made[0].id, "expires_at": old.expires_at}
    audit.record(tenant_id, actor, "api_key.rotated", "api_key", old.id, after=after)
    right_changes.of_keys.tell(old.id)
    return made


@dataclass(frozen=True, slots=True)
class _New:
    name: str
    scopes: Sequence[str]
    owner: bool
    sees_payloads: bool
    expires_at: datetime | None
    addresses: Sequence[str]

    @property
    def rights(self) -> Rights:
        return Rights(frozenset(self.scopes), self.owner, self.expires_at, tuple(self.addresses))


def _make(
    tenant: Tenant, own: Rights | None, wanted: _New, *, actor: Actor, key: str | None = None
) -> tuple[ApiKey, str]:
    _check(wanted.scopes, wanted.expires_at, key)
    _check_sight(wanted)
    if own is not None:
        require_no_more(own, wanted.rights)
    if key is None:
        prefix = "pk_" + "".join(secrets.choice(_PREFIX_LETTERS) for _ in range(9))
        key = f"{prefix}_{secrets.token_urlsafe(32)}"
    made = ApiKey(
        tenant=tenant,
        name=wanted.name,
        prefix=key[:PREFIX_LENGTH],
        key_hash=hash_key(key),
        scopes=_in_order(wanted.scopes),
        owner=wanted.owner,
        sees_payloads=wanted.sees_payloads,
        addresses=list(wanted.addresses),
        expires_at=wanted.expires_at,
        created_at=database_clock.now(),
    )
    # The insert decides, not a check before it: two processes may add the same key at once.
    ApiKey.objects.bulk_create([made], ignore_conflicts=True)
    if not ApiKey.objects.filter(pk=made.pk).exists():
        raise Conflict("This key is in use already.", code="key_taken")
    audit.record(tenant.pk, actor, "api_key.created", "api_key", made.id, after=_facts(made))
    return made, key


def _locked_key(
    tenant_id: UUID, by: Authority, actor: Actor, key_id: UUID
) -> tuple[Rights | None, ApiKey]:
    """Return the caller's rights and the key, locked; raise Forbidden for a stronger key."""
    own, key = lock_rights(tenant_id, by, address=actor.address, key_id=key_id)
    if key is None:
        raise NotFound("There is no such API key.")
    if own is not None:
        require_not_stronger(own, rights_of(key))
    return own, key


def _require_valid(key: ApiKey) -> None:
    if not key.is_valid_at(database_clock.now()):
        raise Conflict("This key is revoked or has expired.", code="key_not_valid")


def _refuse_too_many(tenant_id: UUID) -> None:
    # The tenant's row first, as all who lock both: two creations at once would both be the last.
    Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    valid = Q(expires_at=None) | Q(expires_at__gt=database_clock.now())
    if ApiKey.objects.filter(valid, tenant_id=tenant_id, revoked_at=None).count() >= MOST_KEYS:
        message = f"A tenant has at most {MOST_KEYS} valid keys. Revoke unused ones first."
        raise Conflict(message, code="too_many_keys")


def _read_changes(key: ApiKey, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked new values; raise InvalidInput."""
    values = {field: value for field, value in changes.items() if value != getattr(key, field)}
    if "addresses" in values:
        values["addresses"] = read_networks(values["addresses"])
    if "scopes" in values:
        _check(values["scopes"], None, None)
        values["scopes"] = _in_order(values["scopes"])
    if "expires_at" in values:
        end = values["expires_at"]
        _check(key.scopes, end, None)
        if key.replaced_by is not None and key.expires_at and (not end or end > key.expires_at):
            message = "A key that was rotated cannot be valid for longer than its overlap."
            raise InvalidInput([FieldError("#/expires_at", "out_of_range", message)], message)
    return values


def _check(scopes: Sequence[str], expires_at: datetime | None, key: str | None) -> None:
    errors = []
    if not scopes or not set(scopes) <= set(SCOPES):
        message = f"Give at least one of {', '.join(SCOPES)}."
        errors.append(FieldError("#/scopes", "invalid_choice", message))
    if expires_at is not None and expires_at <= database_clock.now():
        errors.append(FieldError("#/expires_at", "in_the_past", "This time is past."))
    if key is not None and not _GIVEN_KEY.fullmatch(key):
        message = "A given key has 32 to 128 visible characters."
        errors.append(FieldError("#/key", "invalid", message))
    if errors:
        raise InvalidInput(errors)


def _check_sight(key: _New | ApiKey) -> None:
    """Raise InvalidInput for a key without payloads that would get them in another way."""
    if not key.sees_payloads and (key.owner or set(key.scopes) & set(SCOPES_THAT_SEE)):
        message = (
            "Keys of owners, and keys that write, work or administer, always see payloads, as they "
            "decide where payloads are sent: give the scopes read and operate only."
        )
        raise InvalidInput([FieldError("#/sees_payloads", "scopes_see_payloads", message)], message)


def _check_name(tenant: Tenant, name: str) -> None:
    """Raise InvalidInput for a name that is too long, or a new one with hidden characters."""
    if not 0 < len(name.strip()) <= len(name) <= LONGEST_NAME:
        message = f"Give a name of 1 to {LONGEST_NAME} characters."
        raise InvalidInput([FieldError("#/name", "invalid", message)], message)
    problem = hidden_problem(name)
    if problem and not ApiKey.objects.filter(tenant=tenant, name=name).exists():
        raise InvalidInput([FieldError("#/name", *problem)], problem[1])


def _in_order(scopes: Iterable[str]) -> list[str]:
    return [scope for scope in SCOPES if scope in set(scopes)]


def _facts(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "owner": key.owner,
        "sees_payloads": key.sees_payloads,
        "addresses": key.addresses,
        "expires_at": key.expires_at,
    }
