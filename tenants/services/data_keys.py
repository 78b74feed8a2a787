"""Make, rotate, re-wrap and destroy the data keys of tenants."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from events import audit
from shared.actor import Actor
from shared.data_keys import begin_replacing, end_replacing, forget_all
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, NotFound
from shared.ids import new_id
from shared.key_service import key_service
from tenants.models import DataKey, Resealing, Tenant

_SECRET_BYTES = 32
#: Keys of a tenant at once: all of them travel with each message.
MOST_KEYS = 8


def add_data_key(
    tenant_id: UUID, generation: int = 1, *, seals_targets: bool | None = None
) -> DataKey:
    """Store a new data key of a tenant that has none that seals; return it.

    ``seals_targets`` is whether URLs and arguments are sealed, too; None where that is as with
    every other tenant.
    """
    if seals_targets is None:
        seals_targets = _all_seal_targets(tenant_id)
    key_id = new_id()
    secret = secrets.token_bytes(_SECRET_BYTES)
    wrapped = key_service().wrap(secret, str(tenant_id), key_id)
    return DataKey.objects.create(
        id=key_id,
        tenant_id=tenant_id,
        generation=generation,
        wrapped=wrapped,
        seals_targets=seals_targets,
    )


def _all_seal_targets(tenant_id: UUID) -> bool:
    """Return whether the targets of every other tenant are sealed, as in a new installation."""
    sealing = DataKey.objects.filter(tenant=OuterRef("pk"), replaced_at=None, seals_targets=True)
    return not Tenant.objects.exclude(pk=tenant_id).filter(~Exists(sealing)).exists()


@transaction.atomic
def rotate_data_key(tenant_id: UUID, *, actor: Actor) -> Resealing:
    """Give a tenant a new data key, which seals from now on; return the resealing that it begins.

    Processes go on sealing under the former key for some seconds, and it opens until it is retired.
    Raise NotFound, and Conflict: ``resealing`` while values are still being sealed anew,
    ``too_many_keys`` while former keys have to be retired first.
    """
    # The race: two rotations at once. The second one waits here and is refused.
    if Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first() is None:
        raise NotFound("There is no such tenant.")
    if Resealing.objects.filter(tenant_id=tenant_id, ended_at=None).exists():
        message = "The tenant's values are still being sealed anew; rotate after that has ended."
        raise Conflict(message, code="resealing")
    keys = DataKey.objects.filter(tenant_id=tenant_id)
    if keys.count() >= MOST_KEYS:
        message = f"The tenant has {MOST_KEYS} keys; an operator retires former ones first."
        raise Conflict(message, code="too_many_keys")
    # Locked: begin_sealing_targets locks keys, and no tenant.
    former = keys.select_for_update(no_key=True).order_by("-generation").first()
    DataKey.objects.filter(tenant_id=tenant_id, replaced_at=None).update(replaced_at=Now())
    # Of a tenant that has none yet an older process may run: only the operator knows.
    made = _replace(
        tenant_id,
        1 if former is None else former.generation + 1,
        seals_targets=former is not None and former.seals_targets,
    )
    resealing = begin_resealing(tenant_id, made.generation, actor)
    facts = {"generation": made.generation, "former": str(former.id) if former else None}
    audit.record(tenant_id, actor, "data_key.rotated", "data_key", made.id, after=facts)
    return resealing


@transaction.atomic
def reseal_tenant(tenant_id: UUID, *, actor: Actor) -> Resealing:
    """Return the resealing of a tenant's values that runs, or begin one under its data key.

    A tenant without a data key gets its first one. From now on URLs and arguments of its targets
    are sealed, too: call it when no process of an older version runs. Raise NotFound.
    """
    if Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first() is None:
        raise NotFound("There is no such tenant.")
    key = DataKey.objects.filter(tenant_id=tenant_id, replaced_at=None).first()
    if key is None:
        key = _replace(tenant_id, 1, seals_targets=True)
    elif not key.seals_targets:
        _changed_in_this_transaction(tenant_id)
        DataKey.objects.filter(pk=key.pk).update(seals_targets=True)
    running = Resealing.objects.filter(tenant_id=tenant_id, ended_at=None).first()
    return running or begin_resealing(tenant_id, key.generation, actor)


def _replace(tenant_id: UUID, generation: int, *, seals_targets: bool) -> DataKey:
    """Store the next data key of a locked tenant; its process knows it behind the commit."""
    _changed_in_this_transaction(tenant_id)
    return add_data_key(tenant_id, generation, seals_targets=seals_targets)


def _changed_in_this_transaction(tenant_id: UUID) -> None:
    begin_replacing(str(tenant_id))
    transaction.on_commit(lambda: end_replacing(str(tenant_id)))


def begin_resealing(tenant_id: UUID, generation: int, actor: Actor) -> Resealing:
    """Store a resealing of a locked tenant that has none."""
    made = Resealing.objects.create(
        tenant_id=tenant_id, generation=generation, begun_by=actor.name[:200]
    )
    made.refresh_from_db()
    return made


def give_data_keys() -> int:
    """Give each tenant without a data key its first one; return how many got one.

    Of an installation from before data keys: its values have the deployment's key. Call it when no
    process of the older version runs, which could not open what these keys seal.
    """
    count = 0
    sealing = DataKey.objects.filter(tenant=OuterRef("pk"), replaced_at=None)
    without = Tenant.objects.filter(~Exists(sealing))
    for tenant_id in list(without.values_list("id", flat=True)):
        with transaction.atomic():
            # The race: a rotation of this tenant, or its removal, between the two.
            tenant = Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
            if tenant is None or tenant.data_keys.filter(replaced_at=None).exists():
                continue
            add_data_key(tenant_id, seals_targets=True)
            count += 1
    forget_all()
    return count


def begin_sealing_targets() -> int:
    """Let the URLs and arguments of every tenant's targets be sealed; return of how many anew.

    Other processes follow within ``ACTIVE_SECONDS``. Call it when no process of an older version
    runs, which could not read what is stored then.
    """
    open_keys = DataKey.objects.filter(replaced_at=None, seals_targets=False)
    count = 0
    # The race: a rotation replaces a key while this waits for it. The next look sees the new one.
    while changed := open_keys.update(seals_targets=True):
        count += changed
    forget_all()
    return count


def rewrap_data_keys(*, limit: int = 1000) -> tuple[int, int]:
    """Wrap data keys anew that another master key than the active one has wrapped.

    Values stay as they are. Return how many, and how many still have another one: repeat while the
    first is not 0. Raise DecryptionFailed where the key service does not open one, behind the
    others.
    """
    service = key_service()
    active = service.active_master()
    done = left = 0
    closed: DecryptionFailed | None = None
    for key in DataKey.objects.order_by("id").iterator(chunk_size=500):
        if service.master_of(bytes(key.wrapped)) == active:
            continue
        if done >= limit:
            left += 1
            continue
        tenant = str(key.tenant_id)
        try:
            secret = service.unwrap(bytes(key.wrapped), tenant, key.id)
        except DecryptionFailed as error:
            closed = closed or error
            continue
        wrapped = service.wrap(secret, tenant, key.id)
        # The race: another session has wrapped it anew, or destroyed it, since it was read.
        same = DataKey.objects.filter(pk=key.id, wrapped=key.wrapped)
        done += same.update(wrapped=wrapped)
    if closed is not None and not done:
        raise closed
    return done, left


def destroy_data_key(key: DataKey, *, actor: Actor) -> None:
    """Remove a former data key: what it has sealed never opens again.

    In the caller's transaction, which has checked that nothing needs it.
    """
    key_id = key.id
    DataKey.objects.filter(pk=key_id).exclude(replaced_at=None).delete()
    facts = {"generation": key.generation}
    audit.record(key.tenant_id, actor, "data_key.retired", "data_key", key_id, before=facts)
    transaction.on_commit(forget_all)
