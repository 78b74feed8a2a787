from __future__ import annotations

import base64
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook

from shared.encryption import DecryptionFailed
from tenants.signing import new_signing_secret, open_signing_secret, seal_signing_secret


def test_a_new_secret_is_32_random_bytes_that_standard_webhooks_takes():
    secret = new_signing_secret()

    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret != new_signing_secret()
    Webhook(secret)


def test_a_secret_opens_for_its_own_tenant_only():
    alpha, beta = uuid4(), uuid4()
    sealed = seal_signing_secret("whsec_x", alpha)

    assert open_signing_secret(sealed, alpha) == "whsec_x"
    with pytest.raises(DecryptionFailed):
        open_signing_secret(sealed, beta)
