"""Certificates of erasures in the admin: to be read, of removed tenants too."""

from __future__ import annotations

from django.contrib import admin

from executions.models import Erasure
from shared.admin import ProductAdmin


@admin.register(Erasure)
class ErasureAdmin(ProductAdmin):
    """What was erased, when, by whom and why."""

    list_display = ("object_kind", "object_id", "status", "begun_by", "begun_at", "ended_at", "id")
