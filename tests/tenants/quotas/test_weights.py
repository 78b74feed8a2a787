from __future__ import annotations

import pytest

from tenants.models import Tenant
from tenants.quotas import weights as known
from tenants.quotas.weights import weights
from tenants.services import change_quotas
from tests.factories import ACTOR
from tests.support.backlogs import weigh
from tests.support.dispatching import Time

pytestmark = pytest.mark.django_db


def test_only_weights_other_than_one_are_known(alpha: Tenant, beta: Tenant):
    weigh(beta, 4)
    known.forget()

    assert weights() == {beta.id: 4}


def test_a_weight_is_read_again_after_seconds_and_at_once_where_it_was_changed(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    clock = Time()
    clock.step = 0.0
    monkeypatch.setattr(known, "monotonic", clock.monotonic)
    known.forget()
    assert weights() == {}

    Tenant.objects.filter(pk=alpha.pk).update(weight=3)
    assert weights() == {}
    clock.now += known.KEPT_SECONDS
    assert weights() == {alpha.id: 3}

    change_quotas(alpha.id, weight=7, actor=ACTOR)
    assert weights() == {alpha.id: 7}
