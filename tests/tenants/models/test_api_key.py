from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from tenants.models import ApiKey


@pytest.mark.parametrize(
    ("revoked", "expires_in", "valid"),
    [
        (False, None, True),
        (False, 1, True),
        (False, 0, False),
        (False, -1, False),
        (True, 1, False),
    ],
)
def test_a_key_is_valid_until_it_is_revoked_or_expires(revoked, expires_in, valid):
    now = timezone.now()
    key = ApiKey(
        revoked_at=now if revoked else None,
        expires_at=None if expires_in is None else now + timedelta(seconds=expires_in),
    )

    assert key.is_valid_at(now) is valid


@pytest.mark.parametrize("scopes", [[], ["read", "root"]])
def test_the_database_refuses_unknown_scopes(alpha, scopes):
    with pytest.raises(IntegrityError, match="api_key_scopes_are_known"):
        ApiKey.objects.create(
            tenant=alpha, name="x", prefix="pk_x", key_hash=b"x" * 32, scopes=scopes
        )
