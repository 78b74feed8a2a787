"""Secrets, data keys, idempotency records and invitations in the admin, without what they hide."""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tenants.admin.filters import TenantFilter
from tenants.models import (
    CalendarFeed,
    DataKey,
    IdempotencyRecord,
    Invitation,
    Resealing,
    SavedView,
    SigningSecret,
)


@admin.register(SigningSecret)
class SigningSecretAdmin(ProductAdmin):
    """The creation and end of each secret; the secret itself is sealed."""

    list_display = ("id", "tenant", "created_at", "expires_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}


@admin.register(DataKey)
class DataKeyAdmin(ProductAdmin):
    """The generations of each tenant's data key; ``manage.py keys`` rotates and retires them."""

    list_display = ("id", "tenant", "generation", "created_at", "replaced_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    hidden_fields = ("wrapped",)


@admin.register(Resealing)
class ResealingAdmin(ProductAdmin):
    """How far the values of each tenant were sealed anew, and are."""

    list_display = ("tenant", "generation", "status", "sealed", "left", "begun_at", "ended_at")
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


@admin.register(Invitation)
class InvitationAdmin(ProductAdmin):
    """The offers of roles; ``manage.py members`` makes, sends and withdraws them."""

    list_display = ("email", "tenant", "role", "created_at", "expires_at", "accepted_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=email",)
    search_help_text = "The address, exactly."
    hidden_fields = ("token_hash",)


@admin.register(CalendarFeed)
class CalendarFeedAdmin(ProductAdmin):
    """The calendar feeds of members, without the hashes of their links."""

    exclude = ("token_hash",)
    list_display = ("name", "tenant", "member", "timezone", "created_at", "last_read_at")
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant", "member")
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id of the feed, or how its name begins."


@admin.register(SavedView)
class SavedViewAdmin(ProductAdmin):
    """The saved views of lists; members make them on the lists' pages."""

    list_display = ("name", "list", "tenant", "member", "is_default", "version", "updated_at")
    list_filter = ("list", TenantFilter)
    list_prefetch = ("tenant", "member")
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id of the view, or how its name begins."
