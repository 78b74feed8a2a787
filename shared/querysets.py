"""Reads of rows that belong to a tenant: fetched and authorised in one call, for every model."""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar
from uuid import UUID

from django.db import models

from shared.exceptions import NotFound

Row = TypeVar("Row", bound=models.Model)


class TenantQuerySet(models.QuerySet[Row]):
    """Rows of a model with ``tenant_id``; ``called`` is the model's word in messages."""

    called: ClassVar[str]
    #: An index has every column that lists filter and order by: it alone finds the rows of a page,
    #: and no others are read.
    found_by_key: ClassVar[bool] = False

    def for_tenant(self, tenant_id: UUID) -> Self:
        """Return the tenant's rows."""
        return self.filter(tenant_id=tenant_id)

    def locked(self) -> Self:
        """Return the rows locked for a change, in order of their keys."""
        return self.select_for_update(no_key=True).order_by("pk")

    def get_for_tenant(self, tenant_id: UUID, row_id: UUID, *, lock: bool = False) -> Row:
        """Return one row of the tenant, locked for a change if asked; raise NotFound."""
        found = self.for_tenant(tenant_id).filter(pk=row_id)
        row = (found.locked() if lock else found).first()
        if row is None:
            raise NotFound(f"There is no such {self.called}.")
        return row
