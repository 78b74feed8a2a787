from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import pytest

from executions.dispatch.shares import accounts
from executions.dispatch.shares.accounts import Accounts, Period
from executions.dispatch.shares.flows import Flow
from executions.models import ShareMinute
from tenants.models import Tenant
from tests.support.dispatching import Time

pytestmark = pytest.mark.django_db
A, B = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def tenants(db: None) -> None:
    for tenant_id, name in ((A, "A"), (B, "B")):
        Tenant.objects.create(pk=tenant_id, name=name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    found = Time()
    found.step = 0.0
    monkeypatch.setattr(accounts, "time", found)
    return found


def waiting(**seconds: float) -> dict[UUID, Flow]:
    known = {"a": A, "b": B}
    return {known[name]: Flow([(5, NOW)], wait) for name, wait in seconds.items()}


def test_a_minute_has_what_each_tenant_received_and_what_its_weight_made_due(clock: Time):
    kept = Accounts()
    kept.add("default", Period(Counter({A: 60, B: 30})), waiting(a=5.0, b=9.0), {A: 3})
    kept.add("default", Period(Counter({A: 10}), {A}), waiting(a=50.0, b=1.0), {A: 3})
    kept.keep()
    assert not ShareMinute.objects.exists()

    clock.now += 60
    kept.keep()

    rows = {row.tenant_id: row for row in ShareMinute.objects.all()}
    assert (rows[A].due, rows[A].received, rows[A].oldest_wait) == (67.5 + 7.5, 70, 50.0)
    assert (rows[B].due, rows[B].received, rows[B].oldest_wait) == (22.5 + 2.5, 30, 9.0)


def test_schedulers_add_to_the_same_rows(clock: Time):
    for wait in (4.0, 3.0):
        kept = Accounts()
        kept.add("default", Period(Counter({A: 10})), waiting(a=wait), {})
        clock.now += 60
        kept.keep()

    row = ShareMinute.objects.get()
    assert (row.due, row.received, row.oldest_wait) == (20.0, 20, 4.0)


def test_without_due_work_nothing_is_written(clock: Time):
    kept = Accounts()
    kept.add("default", Period(), {A: Flow([(5, NOW)])}, {})
    clock.now += 60

    kept.keep()

    assert not ShareMinute.objects.exists()


def test_a_tenant_that_was_removed_gets_no_row(clock: Time):
    kept = Accounts()
    kept.add("default", Period(Counter({A: 1})), waiting(a=1.0, b=2.0), {})
    Tenant.objects.get(pk=B).delete()
    clock.now += 60

    kept.keep()

    assert ShareMinute.objects.get().tenant_id == A


def test_a_minute_has_a_bounded_number_of_tenants(clock: Time, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(accounts, "MOST", 1)
    kept = Accounts()
    kept.add("default", Period(Counter({A: 1})), waiting(a=1.0, b=2.0), {})
    clock.now += 60

    kept.keep()

    assert ShareMinute.objects.get().tenant_id == B
