"""Reads a tenant's audit entries, newest first, for every door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from events.models import AuditEntry
from shared.exceptions import FieldError, InvalidInput, NotFound

#: Filter -> the column that it compares, and how.
_FILTERS = {
    "actor": "actor",
    "action": "action",
    "object_kind": "object_kind",
    "object_id": "object_id",
    "since": "at__gte",
    "until": "at__lt",
}
_BY_NUMBER = ("-sequence",)
_BY_TIME = ("-at", "-sequence")


def list_entries(tenant_id: UUID, filters: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """Return the entries of one tenant that match all filters; None filters nothing.

    Raise InvalidInput for an object's id without its kind: no index serves it.
    """
    if filters.get("object_id") and not filters.get("object_kind"):
        message = "Give object_kind with object_id."
        raise InvalidInput([FieldError("?object_kind", "required", message)], message)
    chosen = {
        column: filters[name]
        for name, column in _FILTERS.items()
        if filters.get(name) not in (None, "")
    }
    return AuditEntry.objects.filter(tenant_id=tenant_id, **chosen)


def order_of(filters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the order of a list with these filters: newest first, by an index.

    By time where a time is given: by number, the way to the entries of last year would lead
    through all that are newer.
    """
    timed = any(filters.get(name) not in (None, "") for name in ("since", "until"))
    return _BY_TIME if timed else _BY_NUMBER


def get_entry(tenant_id: UUID, entry_id: UUID) -> AuditEntry:
    """Return one entry; raise NotFound where the tenant has none of this id."""
    found = AuditEntry.objects.filter(tenant_id=tenant_id, pk=entry_id).first()
    if found is None:
        raise NotFound("There is no such audit entry.")
    return found


def last_number(tenant_id: UUID) -> int:
    """Return the number of the tenant's newest entry; 0 where it has none."""
    numbers = AuditEntry.objects.filter(tenant_id=tenant_id).order_by("-sequence")
    return numbers.values_list("sequence", flat=True).first() or 0
