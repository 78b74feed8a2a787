from __future__ import annotations

import pytest

from executions.choices import Status
from executions.models import Execution
from insight.statistics import facets
from tenants.models import Tenant
from tests.factories import make_execution

pytestmark = pytest.mark.django_db


def test_rows_are_counted_by_state_up_to_one_more_than_the_most(alpha: Tenant, monkeypatch):
    for status in ("FAILED", "FAILED", "FAILED", "SUCCEEDED", "PENDING"):
        make_execution(alpha, status)
    monkeypatch.setattr(facets, "MOST_COUNTED", 1)

    found = facets.status_counts(lambda: Execution.objects.for_tenant(alpha.id))

    assert {name: count for name, count in found.items() if count} == {
        "FAILED": 2,
        "SUCCEEDED": 1,
        "PENDING": 1,
    }
    assert set(found) == set(Status)


def test_where_time_runs_out_the_states_counted_until_then_have_numbers(alpha: Tenant, monkeypatch):
    make_execution(alpha, "PENDING")

    def cut_off(milliseconds, reads):
        return [read() for read in reads[:2]]

    monkeypatch.setattr(facets, "until", cut_off)

    found = facets.status_counts(lambda: Execution.objects.for_tenant(alpha.id))
    assert (found["PENDING"], len(found)) == (1, 2)
