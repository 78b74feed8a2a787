"""Signing secrets as text: made, sealed for a tenant, opened again.

Knows no database: workers open the secrets that came with their executions.
"""

from __future__ import annotations

import base64
import secrets
from uuid import UUID

from shared.encryption import open_sealed, seal
from shared.sealing_contexts import signing_secret_context

PREFIX = "whsec_"


def new_signing_secret() -> str:
    """Return a new secret of 32 random bytes, as Standard Webhooks spells it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def seal_signing_secret(secret: str, tenant_id: UUID) -> bytes:
    """Seal a secret so that it opens for this tenant only."""
    return seal(secret.encode(), signing_secret_context(tenant_id))


def open_signing_secret(sealed: bytes, tenant_id: UUID) -> str:
    """Return the secret; raise DecryptionFailed when it is not this tenant's."""
    return open_sealed(sealed, signing_secret_context(tenant_id)).decode()
