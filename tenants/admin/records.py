"""Signing secrets and repeated answers in the admin: that they are, not what they say."""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tenants.admin.filters import TenantFilter
from tenants.models import IdempotencyRecord, SigningSecret


@admin.register(SigningSecret)
class SigningSecretAdmin(ProductAdmin):
    """When each secret was made and when it ends; the secret itself is sealed."""

    list_display = ("id", "tenant", "created_at", "expires_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ProductAdmin):
    """Which calls were answered under which key; the answers are sealed."""

    list_display = ("key", "tenant", "status", "created_at", "expires_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    search_fields = ("=key",)
    search_help_text = "The Idempotency-Key, exactly."
    hidden_fields = ("headers",)
