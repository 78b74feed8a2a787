"""Removes a tenant with every row of every app; used for the demo tenant and those of storms.

It removes the rows of every model with a ``tenant_id``, and what open runs of workflows have. The
audit log stays, because it outlives the rows that it describes.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import models, transaction

from events import audit
from events.models import AuditChain, AuditEntry, Event
from executions.models import Attempt, Execution
from shared.actor import Actor
from shared.ids import first_id_at
from tenants.models import Tenant
from workflows import removal

_KEPT = {AuditChain, AuditEntry}
#: Partitioned by day and not found by tenant alone.
_LARGE = {Attempt, Event, Execution}
_BATCH = 2000


def remove_history(tenant: Tenant) -> None:
    """Remove the tenant's rows in batches, each a transaction.

    For a tenant that has too many rows for one statement or one transaction. Call it before
    :func:`remove_tenant`, under the same condition.
    """
    removal.remove_of_tenant(tenant.id)
    since = first_id_at(tenant.created_at)
    executions = Execution.objects.filter(id__gte=since, tenant_id=tenant.id)
    while ids := list(executions.values_list("id", flat=True)[:_BATCH]):
        with transaction.atomic():
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
    removal.remove_of_tenant(tenant.id)
    executions = Execution.objects.filter(tenant_id=tenant.id)
    # The key of an attempt's index is its execution.
    Attempt.objects.filter(execution_id__in=executions.values("id")).delete()
    executions.delete()
    since = first_id_at(tenant.created_at)
    Event.objects.filter(id__gte=since, tenant_id=tenant.id).delete()
    for model in rows_of_tenants():
        model._base_manager.filter(tenant_id=tenant.id).delete()
    tenant_id, name = tenant.id, tenant.name
    tenant.delete()
    audit.record(tenant_id, actor, "tenant.removed", "tenant", tenant_id, before={"name": name})


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
