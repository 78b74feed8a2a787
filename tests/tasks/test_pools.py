from __future__ import annotations

import pytest

from executions.models import Pool
from tasks.calendars import limits_of
from tasks.pools import pools_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(alpha):
    return Pool.objects.create(tenant=alpha, name="batch-etl")


def test_the_names_of_a_tenants_pools_are_read(alpha, beta, batch):
    assert pools_of(alpha.id)() == {"batch-etl"}
    assert pools_of(beta.id)() == frozenset()
    assert limits_of(alpha.id).pools() == {"batch-etl"}


def test_they_are_read_once_for_many_bodies(alpha, batch, django_assert_num_queries):
    read = pools_of(alpha.id)

    with django_assert_num_queries(1):
        assert {read() for _ in range(5)} == {frozenset({"batch-etl"})}
