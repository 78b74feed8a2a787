"""Every write of tenants: tenants themselves, their members, keys and secrets."""

from __future__ import annotations

from tenants.services.api_keys import (
    create_api_key,
    edit_api_key,
    get_api_key,
    revoke_api_key,
    rotate_api_key,
)
from tenants.services.memberships import remove_member, set_member
from tenants.services.quotas import change_quotas
from tenants.services.signing_secrets import (
    RevealedSecret,
    active_signing_secrets,
    reveal_signing_secrets,
    rotate_signing_secret,
)
from tenants.services.tenants import (
    change_tenant,
    create_tenant,
    get_tenant,
    resume_tenant,
    suspend_tenant,
)

__all__ = [
    "RevealedSecret",
    "active_signing_secrets",
    "change_quotas",
    "change_tenant",
    "create_api_key",
    "create_tenant",
    "edit_api_key",
    "get_api_key",
    "get_tenant",
    "remove_member",
    "resume_tenant",
    "reveal_signing_secrets",
    "revoke_api_key",
    "rotate_api_key",
    "rotate_signing_secret",
    "set_member",
    "suspend_tenant",
]
