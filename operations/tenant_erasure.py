"""Erases a tenant with all of its rows and its data keys; certificate and audit log stay.

The tenant is suspended first, so that nothing of it starts and its keys are refused. An interrupted
erasure continues when it is called again: rows go in batches, each a transaction, and the last one
removes the tenant and completes the certificate.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from copy import copy
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, OperationalError, transaction

from events import audit
from events.models import Event
from executions.changes import changing
from executions.erasure.requests import require_reason
from executions.loop.clocks import database_now
from executions.models import Attempt, Erasure, Execution
from operations.admin_log import blank_admin_log
from operations.backup import erased_tenants
from operations.tenant_removal import remove_history, remove_tenant, rows_of_tenants
from shared.actor import Actor
from shared.data_keys import forget_all
from shared.exceptions import Conflict, NotFound, Unavailable
from shared.ids import first_id_at
from shared.sql import rows
from tasks.models import Task
from tenants.models import DataKey, Tenant
from tenants.services import suspend_tenant

log = logging.getLogger("operations.tenant_erasure")

_KIND = "tenant"
#: How often the last step is tried: a call under way may lock its rows in another order.
_TRIES = 5
#: A deadlock, a conflict of snapshots, and a row that still names the tenant.
_CROSSED = frozenset({"40P01", "40001", "23503"})


def erase_tenant(tenant: Tenant, *, reason: str, actor: Actor) -> Erasure:
    """Suspend a tenant, abort its work, remove its rows and itself; return the certificate.

    Raise InvalidInput for the reason, Unavailable as suspending does and where the list of erased
    tenants cannot be written, Conflict ``already_erasing``
    while another session erases it, and NotFound where that has ended.
    """
    require_reason(reason)
    # The race: a second session would continue what the first one does, and complete it again.
    wanted = {"tenant": tenant.id}
    if not rows("erasure/take_turn", wanted)[0][0]:
        message = "Another session erases this tenant now."
        raise Conflict(message, code="already_erasing")
    try:
        return _erase(tenant, reason, actor)
    finally:
        # An error here does no harm: the turn ends with the session.
        with suppress(DatabaseError):
            rows("erasure/give_turn_back", wanted)


def _erase(tenant: Tenant, reason: str, actor: Actor) -> Erasure:
    if not Tenant.objects.filter(pk=tenant.id).exists():
        raise NotFound("There is no such tenant.")
    erasure = _begun(tenant, reason, actor)
    with transaction.atomic(durable=True):
        suspend_tenant(tenant.id, actor=actor)
    for task_id in Task.objects.for_tenant(tenant.id).values_list("id", flat=True):
        with transaction.atomic(durable=True):
            changing.delete_task(tenant.id, task_id, actor=actor, cancel_running=True)
    _note_counts(erasure, tenant)
    _blank_admin_log(erasure, tenant)
    # Outside of the database: a backup from before has the keys, and a restore has to destroy them.
    _note_erased(tenant)
    with transaction.atomic(durable=True):
        DataKey.objects.filter(tenant_id=tenant.id).delete()
        transaction.on_commit(forget_all)
    remove_history(tenant)
    for tries_left in reversed(range(_TRIES)):
        try:
            _complete(erasure, tenant, actor)
            break
        except (IntegrityError, OperationalError) as error:
            if not tries_left or getattr(error.__cause__, "sqlstate", None) not in _CROSSED:
                raise
            facts = {"erasure_id": str(erasure.id), "reason": str(error)}
            log.warning("erasure.crossed", extra=facts)
    return erasure


def _complete(erasure: Erasure, tenant: Tenant, actor: Actor) -> None:
    """Remove the tenant with what calls under way have stored since, and end the certificate."""
    with transaction.atomic(durable=True):
        # Removing takes the id from its instance, also where the commit then fails.
        remove_tenant(copy(tenant), actor=actor)
        wanted = {"tenant": erasure.tenant_id}
        erasure.audit_count, erasure.audit_digest = rows("erasure/audit_digest_of_all", wanted)[0]
        erasure.ended_at = database_now()
        erasure.save()


def _note_erased(tenant: Tenant) -> None:
    try:
        erased_tenants.note(settings.DATA_DIR, tenant.id)
    except OSError as error:
        path = settings.DATA_DIR / erased_tenants.FILE
        message = f"{path} cannot be written: {error.strerror}. Erase the tenant again after that."
        raise Unavailable(message) from error


def _begun(tenant: Tenant, reason: str, actor: Actor) -> Erasure:
    """Return the erasure that was interrupted, or a new one."""
    found = Erasure.objects.filter(object_id=tenant.id, object_kind=_KIND, ended_at=None).first()
    if found is not None:
        return found
    erasure = Erasure(
        tenant_id=tenant.id,
        object_kind=_KIND,
        object_id=tenant.id,
        reason=reason,
        begun_by=actor.name[:200],
        address=actor.address[:64],
    )
    facts = {"object_kind": _KIND, "object_id": str(tenant.id), "reason": reason}
    with transaction.atomic(durable=True):
        erasure.save(force_insert=True)
        audit.record(tenant.id, actor, "erasure.begun", "erasure", erasure.id, after=facts)
    return erasure


def _blank_admin_log(erasure: Erasure, tenant: Tenant) -> None:
    """Take the names of the tenant's rows out of the admin's log, before the rows go."""
    with transaction.atomic(durable=True):
        if blanked := blank_admin_log(tenant):
            erasure.counts["admin_log"] = erasure.counts.get("admin_log", 0) + blanked
            erasure.save()


def _note_counts(erasure: Erasure, tenant: Tenant) -> None:
    """Note the rows by table; after an interruption some are gone, and the first count stays."""
    since = first_id_at(tenant.created_at)
    found: dict[str, Any] = {
        "executions": Execution.objects.filter(tenant_id=tenant.id),
        "attempts": Attempt.objects.filter(id__gte=since, tenant_id=tenant.id),
        "events": Event.objects.filter(id__gte=since, tenant_id=tenant.id),
        **{
            model._meta.db_table: model._base_manager.filter(tenant_id=tenant.id)
            for model in rows_of_tenants()
        },
    }
    for table, queryset in found.items():
        if count := max(queryset.count(), erasure.counts.get(table, 0)):
            erasure.counts[table] = count
    erasure.save()
