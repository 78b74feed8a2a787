"""Destinations and pools in the admin; changed in the console, which also knows their state."""

from __future__ import annotations

from django.contrib import admin

from executions.models import Destination, Pool
from shared.admin import ProductAdmin
from tenants.admin import TenantFilter


@admin.register(Destination)
class DestinationAdmin(ProductAdmin):
    """Hosts that a tenant has set limits for."""

    list_display = ("host", "max_in_flight", "rate_per_second", "breaker", "updated_at", "tenant")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^host")
    search_help_text = "Id, or how the host begins."


@admin.register(Pool)
class PoolAdmin(ProductAdmin):
    """Pools whose workers lease over the API."""

    list_display = ("name", "paused", "max_in_flight", "updated_at", "tenant")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id, or how the name begins."
