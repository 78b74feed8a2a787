from __future__ import annotations

import pytest

from insight.statistics import shares as module
from insight.statistics.shares import shares_of, sums_of_tenants
from tenants.models import Tenant
from tests.support.share_minutes import minute

pytestmark = pytest.mark.django_db


def test_a_tenants_minutes_of_a_pool_are_added_up(alpha: Tenant, beta: Tenant):
    minute(alpha, 2, 10.0, 5, 3.0)
    minute(alpha, 1, 10.0, 10, 2.0)
    minute(alpha, 90, 1.0, 1)
    minute(beta, 1, 7.0, 7)

    (share,) = shares_of(alpha.id)

    assert (share.due, share.received, share.ratio) == (20.0, 15, 0.75)
    assert (share.oldest_wait, share.scarce_minutes) == (3.0, 2)
    assert [one.received for one in share.minutes] == [5, 10]


def test_a_share_of_which_nothing_was_due_has_no_ratio(alpha: Tenant):
    minute(alpha, 1, 0.0, 0)

    assert shares_of(alpha.id)[0].ratio is None


def test_operators_see_every_tenant_the_longest_wait_first(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    minute(alpha, 1, 10.0, 5, 3.0)
    minute(beta, 1, 10.0, 5, 9.0)
    minute(beta, 2, 10.0, 6, 1.0)

    assert [(one.tenant_id, one.received) for one in sums_of_tenants()] == [
        (beta.id, 11),
        (alpha.id, 5),
    ]
    assert [one.tenant_id for one in sums_of_tenants(tenant_id=alpha.id)] == [alpha.id]
    monkeypatch.setattr(module, "MOST_SUMS", 1)
    assert len(sums_of_tenants()) == 1
