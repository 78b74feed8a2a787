"""Calendars in the admin; changed in the console, where the tasks that name them follow."""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tasks.models import Calendar
from tenants.admin import TenantFilter


@admin.register(Calendar)
class CalendarAdmin(ProductAdmin):
    """Days and windows at which tasks do not run."""

    list_display = ("name", "description", "version", "updated_at", "tenant", "console")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id, or how the name begins."
    console_kind = "calendar"
