"""The filter by tenant, for the lists of every app above."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants.models import Tenant

_OFFERED = 30


class TenantFilter(admin.SimpleListFilter):
    """The rows of one tenant; offers the first tenants by name, accepts any id."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the tenants to choose from."""
        offered = Tenant.objects.order_by("name").values_list("id", "name")[:_OFFERED]
        return [(str(key), name) for key, name in offered]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the tenant's rows."""
        chosen = self.value()
        if chosen is None:
            return queryset
        try:
            return queryset.filter(tenant_id=chosen)
        except ValidationError as error:
            raise IncorrectLookupParameters(error) from error
