"""The models of tenants."""

from __future__ import annotations

from tenants.models.api_key import ApiKey
from tenants.models.calendar_feed import CalendarFeed
from tenants.models.data_key import DataKey
from tenants.models.idempotency_record import IdempotencyRecord
from tenants.models.identity import Identity
from tenants.models.invitation import Invitation
from tenants.models.membership import Membership
from tenants.models.resealing import Resealing
from tenants.models.saved_view import SavedView
from tenants.models.second_factor import RecoveryCode, SecondFactor
from tenants.models.sign_in import SignIn
from tenants.models.signing_secret import SigningSecret
from tenants.models.tenant import Tenant

__all__ = [
    "ApiKey",
    "CalendarFeed",
    "DataKey",
    "IdempotencyRecord",
    "Identity",
    "Invitation",
    "Membership",
    "RecoveryCode",
    "Resealing",
    "SavedView",
    "SecondFactor",
    "SignIn",
    "SigningSecret",
    "Tenant",
]
