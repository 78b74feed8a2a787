from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from tenants.models import ApiKey, Invitation, Membership
from tests.support.api import make_key
from tests.support.invitations import invite, join

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ended", "is_open"),
    [
        ({}, True),
        ({"accepted_at": NOW}, False),
        ({"withdrawn_at": NOW}, False),
        ({"expires_at": NOW}, False),
    ],
)
def test_an_offer_is_open_until_it_has_ended(ended, is_open):
    offer = Invitation(**{"expires_at": NOW + timedelta(days=1), **ended})

    assert offer.is_open_at(NOW) is is_open


def test_the_database_knows_who_always_sees_payloads(alpha):
    rows = (
        Membership.objects.filter(pk=join(alpha, "a", "admin").pk),
        ApiKey.objects.filter(pk=make_key(alpha, ["read", "write"])[0].pk),
        ApiKey.objects.filter(pk=make_key(alpha, ["worker"])[0].pk),
        ApiKey.objects.filter(pk=make_key(alpha, ["read"], owner=True)[0].pk),
        Invitation.objects.filter(pk=invite(alpha, role="owner").pk),
    )

    for row in rows:
        with pytest.raises(IntegrityError), transaction.atomic():
            row.update(sees_payloads=False)
    reader = ApiKey.objects.filter(pk=make_key(alpha, ["read", "operate"])[0].pk)
    assert reader.update(sees_payloads=False) == 1
