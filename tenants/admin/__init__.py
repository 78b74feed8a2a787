"""Tenants, their people, keys and secrets in the admin."""

from __future__ import annotations

from tenants.admin.api_keys import ApiKeyAdmin
from tenants.admin.filters import TenantFilter
from tenants.admin.records import IdempotencyRecordAdmin, InvitationAdmin, SigningSecretAdmin
from tenants.admin.sign_ins import RecoveryCodeAdmin, SecondFactorAdmin, SignInAdmin
from tenants.admin.tenants import TenantAdmin
from tenants.admin.users import MemberAdmin, MembershipAdmin

__all__ = [
    "ApiKeyAdmin",
    "IdempotencyRecordAdmin",
    "InvitationAdmin",
    "MemberAdmin",
    "MembershipAdmin",
    "RecoveryCodeAdmin",
    "SecondFactorAdmin",
    "SignInAdmin",
    "SigningSecretAdmin",
    "TenantAdmin",
    "TenantFilter",
]
