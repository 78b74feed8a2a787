"""The answers that show the data keys of a tenant, and how far its values are sealed anew."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from executions.resealing.passes import passes_of_tenant
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant
from tenants.models import DataKey, Resealing


def present_encryption_keys(tenant_id: UUID) -> dict[str, Any]:
    """Return a tenant's data keys, newest first, and its last resealing; never a key itself."""
    keys = DataKey.objects.filter(tenant_id=tenant_id).order_by("-generation")
    last = Resealing.objects.filter(tenant_id=tenant_id).order_by("-begun_at").first()
    return {
        "encryption_keys": [present_data_key(key) for key in keys],
        "resealing": None if last is None else present_resealing(last),
    }


def present_data_key(key: DataKey) -> dict[str, Any]:
    """Return what is shown of a data key."""
    return {
        "id": str(key.id),
        "generation": key.generation,
        "status": "SEALS" if key.replaced_at is None else "OPENS",
        "created_at": format_instant(key.created_at),
        "replaced_at": instant_or_none(key.replaced_at),
    }


def present_resealing(resealing: Resealing) -> dict[str, Any]:
    """Return how far the values of a tenant are sealed anew."""
    return {
        "id": str(resealing.id),
        "generation": resealing.generation,
        "status": resealing.status,
        "columns_done": resealing.columns_done,
        "columns": len(passes_of_tenant()),
        "sealed": resealing.sealed,
        "unreadable": resealing.unreadable,
        "left": resealing.left,
        "begun_by": resealing.begun_by,
        "begun_at": format_instant(resealing.begun_at),
        "ended_at": instant_or_none(resealing.ended_at),
    }
