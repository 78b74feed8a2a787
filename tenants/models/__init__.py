"""The models of tenants."""

from __future__ import annotations

from tenants.models.api_key import ApiKey
from tenants.models.idempotency_record import IdempotencyRecord
from tenants.models.membership import Membership
from tenants.models.signing_secret import SigningSecret
from tenants.models.tenant import Tenant

__all__ = ["ApiKey", "IdempotencyRecord", "Membership", "SigningSecret", "Tenant"]
