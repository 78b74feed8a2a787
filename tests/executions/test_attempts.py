from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from executions.attempts import attempts_of, of_id
from executions.models import Attempt
from tenants.models import Tenant
from tests.factories import finish, make_execution, release, start

pytestmark = pytest.mark.django_db


def test_attempts_come_in_their_order_for_each_execution(
    alpha: Tenant, django_assert_num_queries: Any
):
    one, two, idle = make_execution(alpha), make_execution(alpha), make_execution(alpha)
    for status in ("RETRYING", "SUCCEEDED"):
        rows = [row for row in release() if row.id != idle.id]
        start(rows)
        for row in rows:
            finish(row, status)

    with django_assert_num_queries(1):
        found = attempts_of([one.id, two.id, idle.id, uuid4()])

    numbers = {key: [attempt.number for attempt in rows] for key, rows in found.items()}
    assert numbers == {one.id: [1, 2], two.id: [1, 2]}
    assert found[idle.id] == []


def test_no_executions_cost_no_query(django_assert_num_queries: Any):
    with django_assert_num_queries(0):
        assert not attempts_of([])


def test_an_attempt_is_found_by_its_id_alone(alpha: Tenant):
    for _ in range(2):
        make_execution(alpha, "FAILED")
    wanted, other = Attempt.objects.all()

    assert list(of_id(Attempt.objects.all(), wanted.id)) == [wanted]
    assert not of_id(Attempt.objects.exclude(id=other.id), other.id).exists()
    assert not of_id(Attempt.objects.all(), uuid4()).exists()
