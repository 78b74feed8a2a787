from __future__ import annotations

import pytest

from executions.models import Destination, Pool
from tests.support.admin import text_of

pytestmark = pytest.mark.django_db


def test_destinations_of_every_tenant_are_listed_and_shown(browser, alpha, beta):
    ours = Destination.objects.create(tenant=alpha, host="api.example.com", rate_per_second=5)
    Destination.objects.create(tenant=beta, host="other.example.com", max_in_flight=3)

    words = text_of(browser.list(Destination))

    assert "api.example.com" in words
    assert "other.example.com" in words
    assert "api.example.com" in text_of(browser.page(ours))


def test_pools_are_listed_and_shown(browser, alpha):
    pool = Pool.objects.create(tenant=alpha, name="reports", paused=True)

    assert "reports" in text_of(browser.list(Pool))
    assert "reports" in text_of(browser.page(pool))
