from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from events.models import AuditEntry
from shared.actor import COMMAND
from tenants.models import SigningSecret
from tenants.services import (
    active_signing_secrets,
    reveal_signing_secrets,
    rotate_signing_secret,
)
from tenants.signing import open_signing_secret

pytestmark = pytest.mark.django_db


def _active(tenant):
    sealed = active_signing_secrets([tenant.id])[tenant.id]
    return [open_signing_secret(blob, tenant.id) for blob in sealed]


def test_after_a_rotation_both_secrets_sign_the_new_one_first(alpha):
    before = _active(alpha)

    made = rotate_signing_secret(alpha.id, actor=COMMAND)

    assert _active(alpha) == [made.secret, *before]


def test_the_old_secret_ends_with_the_overlap(alpha):
    made = rotate_signing_secret(alpha.id, actor=COMMAND)

    # The database's time decides: the overlap passes, first all but an hour of it.
    ends = SigningSecret.objects.filter(expires_at__isnull=False)
    ends.update(expires_at=F("expires_at") - timedelta(hours=23))
    assert len(_active(alpha)) == 2
    ends.update(expires_at=F("expires_at") - timedelta(hours=1))
    assert _active(alpha) == [made.secret]


def test_no_overlap_ends_a_leaked_secret_at_once(alpha):
    made = rotate_signing_secret(alpha.id, overlap_seconds=0, actor=COMMAND)

    assert _active(alpha) == [made.secret]


def test_a_rotation_never_lengthens_the_life_of_an_older_secret(alpha):
    first = SigningSecret.objects.get(tenant=alpha)
    rotate_signing_secret(alpha.id, overlap_seconds=60, actor=COMMAND)
    ends_at = SigningSecret.objects.get(pk=first.pk).expires_at

    rotate_signing_secret(alpha.id, overlap_seconds=3600, actor=COMMAND)

    assert SigningSecret.objects.get(pk=first.pk).expires_at == ends_at


def test_many_tenants_secrets_come_in_one_query(alpha, beta):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = active_signing_secrets([alpha.id, beta.id])

    assert set(found) == {alpha.id, beta.id}
    assert len(queries) == 1


def test_revealing_is_recorded_without_the_secret(alpha):
    (revealed,) = reveal_signing_secrets(alpha.id, actor=COMMAND)

    assert revealed.secret == _active(alpha)[0]
    entry = AuditEntry.objects.get(action="signing_secret.revealed")
    assert entry.after is None


def test_secrets_are_sealed_at_rest(alpha):
    secret = _active(alpha)[0]

    assert secret.encode() not in SigningSecret.objects.get(tenant=alpha).sealed
