"""Signing secrets and idempotency records in the admin, without their sealed content."""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tenants.admin.filters import TenantFilter
from tenants.models import IdempotencyRecord, SigningSecret


@admin.register(SigningSecret)
class SigningSecretAdmin(ProductAdmin):
    """The creation and end of each secret; the secret itself is sealed."""

    list_display = ("id", "tenant", "created_at", "expires_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ProductAdmin):
    """The calls that were answered under each key; the answers are sealed."""

    list_display = ("key", "tenant", "status", "created_at", "expires_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    search_fields = ("=key",)
    search_help_text = "The Idempotency-Key, exactly."
    hidden_fields = ("headers",)
