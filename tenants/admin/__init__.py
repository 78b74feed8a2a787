"""Tenants, their people, keys and secrets in the admin."""

from __future__ import annotations

from tenants.admin.api_keys import ApiKeyAdmin
from tenants.admin.filters import TenantFilter
from tenants.admin.records import IdempotencyRecordAdmin, SigningSecretAdmin
from tenants.admin.tenants import TenantAdmin
from tenants.admin.users import MemberAdmin, MembershipAdmin

__all__ = [
    "ApiKeyAdmin",
    "IdempotencyRecordAdmin",
    "MemberAdmin",
    "MembershipAdmin",
    "SigningSecretAdmin",
    "TenantAdmin",
    "TenantFilter",
]
