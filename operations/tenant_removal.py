"""Removes a tenant with every row of every app; used for the demo tenant and those of storms.

It removes the rows of every model with a ``tenant_id``, and what open runs of workflows have. The
audit log and the certificates of erasures stay, because they outlive the rows that they describe.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import models, transaction

from events import audit
from events.models import AuditChain, AuditEntry, Event
from executions.choices import OPEN
from executions.models import Attempt, Erasure, Execution, WorkflowRun
from executions.querysets import ExecutionQuerySet
from shared.actor import Actor
from shared.ids import first_id_at
from tenants.models import Tenant
from workflows import removal

#: Certificates outlive the tenant, as its audit log does.
_KEPT = {AuditChain, AuditEntry, Erasure}
#: Partitioned by day and not found by tenant alone.
_LARGE = {Attempt, Event, Execution}
_BATCH = 2000


def remove_history(tenant: Tenant) -> None:
    """Remove the tenant's rows in batches, each a transaction.

    For a tenant that has too many rows for one statement or one transaction. Call it before
    :func:`remove_tenant`, under the same condition.
    """
    with transaction.atomic():
        # With the runs themselves: an advance between would begin steps of them.
        removal.remove_of_tenant(tenant.id)
        WorkflowRun.objects.filter(tenant_id=tenant.id).delete()
    since = first_id_at(tenant.created_at)
    executions = Execution.objects.filter(id__gte=since, tenant_id=tenant.id)
    while ids := list(executions.values_list("id", flat=True)[:_BATCH]):
        with transaction.atomic():
            _hold(executions.filter(id__in=ids))
            removal.remove_inbox_of(ids)
            Attempt.objects.filter(execution_id__in=ids).delete()
            Execution.objects.filter(id__in=ids).delete()
    events = Event.objects.filter(id__gte=since, tenant_id=tenant.id)
    while ids := list(events.values_list("id", flat=True)[:_BATCH]):
        Event.objects.filter(id__in=ids).delete()
    for model in rows_of_tenants():
        found = model._base_manager.filter(tenant_id=tenant.id)
        while keys := list(found.values_list("pk", flat=True)[:_BATCH]):
            found.filter(pk__in=keys).delete()


def remove_tenant(tenant: Tenant, *, actor: Actor) -> None:
    """Remove the tenant's rows and the tenant, in the caller's transaction.

    Its tasks must have been deleted before, so that nothing new comes in.
    """
    # The races: a scheduler that finds the tenant suspended without its pause, which goes below,
    # would make another one; it skips a locked tenant. A call that is under way has the end of the
    # audit log first, and the tenant at its commit; so both are taken here, in its order. It ends
    # before, and what it has stored goes in the second pass, or it finds no tenant.
    # Nothing is found where another removal was quicker.
    found = Tenant.objects.filter(pk=tenant.id).values_list("pk")
    list(found.select_for_update(no_key=True))
    _remove_rows(tenant)
    named = {"name": tenant.name}
    audit.record(tenant.id, actor, "tenant.removed", "tenant", tenant.id, before=named)
    list(found.select_for_update())
    _remove_rows(tenant)
    tenant.delete()


def _remove_rows(tenant: Tenant) -> None:
    removal.remove_of_tenant(tenant.id)
    executions = Execution.objects.filter(tenant_id=tenant.id)
    _hold(executions)
    # The key of an attempt's index is its execution.
    Attempt.objects.filter(execution_id__in=executions.values("id")).delete()
    removal.remove_inbox_of(list(executions.exclude(run_id=None).values_list("id", flat=True)))
    executions.delete()
    since = first_id_at(tenant.created_at)
    Event.objects.filter(id__gte=since, tenant_id=tenant.id).delete()
    for model in rows_of_tenants():
        model._base_manager.filter(tenant_id=tenant.id).delete()


def _hold(executions: ExecutionQuerySet) -> None:
    """Lock the open ones before their attempts go.

    The race: a recorder that has written an attempt commits it between the two statements, and
    nothing finds the attempt of a removed execution. It either has committed by now, or finds no
    row of the execution.
    """
    open_ = executions.filter(status__in=sorted(OPEN)).order_by("id")
    list(open_.select_for_update(no_key=True).values_list("id", flat=True))


def rows_of_tenants() -> list[Any]:
    """Return the small models with a ``tenant_id``, each before the models that it points to."""
    found = {
        model
        for model in apps.get_models()
        if model not in _KEPT | _LARGE and model is not Tenant and _has_tenant(model)
    }
    order: TopologicalSorter[Any] = TopologicalSorter({model: set() for model in found})
    for model in found:
        for field in model._meta.concrete_fields:
            target = field.related_model
            if isinstance(field, models.ForeignKey) and target in found and target is not model:
                order.add(target, model)
    return sorted_stably(order)


def sorted_stably(order: TopologicalSorter[Any]) -> list[Any]:
    """Return the order of the sorter, equals by their names."""
    order.prepare()
    found: list[Any] = []
    while order.is_active():
        ready = sorted(order.get_ready(), key=lambda model: str(model._meta.label))
        found += ready
        order.done(*ready)
    return found


def _has_tenant(model: type[models.Model]) -> bool:
    return any(field.attname == "tenant_id" for field in model._meta.concrete_fields)
