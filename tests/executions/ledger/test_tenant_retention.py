from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from events.models import AuditEntry
from executions.ledger import days as ledger
from executions.ledger import tenant_retention
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution, WorkflowRun
from shared.conf import conf
from shared.sql import json_value
from tenants.models import Tenant
from tenants.services import change_quotas
from tests.executions.old_days import ago, forget, put
from tests.factories import ACTOR, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _ninety_days_kept(transactional_db: None, settings: Any) -> Iterator[None]:
    settings.PUNCTUAL = replace(conf(), retention_days=90)
    forget()
    yield
    forget()


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def beta(transactional_db: None) -> Tenant:
    return make_tenant("Beta")


def keep(tenant: Tenant, days: int | None) -> None:
    change_quotas(tenant.id, actor=ACTOR, limits={"retention_days": days})


def left(tenant: Tenant) -> list[Any]:
    return list(Execution.objects.filter(tenant_id=tenant.id).values_list("id", flat=True))


def test_without_such_a_quota_nothing_is_read_or_removed(alpha: Tenant):
    old = put(alpha, 30)

    assert tenant_retention.remove_old(database_now()) == 0

    assert left(alpha) == [old.id]


@pytest.mark.logs("tenant_history.removed")
def test_what_is_older_leaves_with_its_attempts_and_another_tenants_stays(
    alpha: Tenant, beta: Tenant
):
    gone, young, other = put(alpha, 12), put(alpha, 5), put(beta, 12)
    keep(alpha, 10)

    assert tenant_retention.remove_old(database_now()) == 1

    assert left(alpha) == [young.id]
    assert left(beta) == [other.id]
    assert not Attempt.objects.filter(execution_id=gone.id).exists()
    assert Attempt.objects.filter(execution_id=other.id).exists()
    assert tenant_retention.remove_old(database_now()) == 0


def test_one_audit_entry_tells_of_each_round(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tenant_retention, "_AT_ONCE", 1)
    put(alpha, 12), put(alpha, 13)
    keep(alpha, 10)

    assert tenant_retention.remove_old(database_now()) == 2

    [entry] = AuditEntry.objects.filter(action="tenant.history_removed")
    assert entry.tenant_id == alpha.id
    assert json_value(entry.after) == {
        "before": f"{ago(10):%Y-%m-%d}",
        "executions": 2,
        "attempts": 2,
    }


def test_what_belongs_to_an_open_run_stays(alpha: Tenant):
    step = put(alpha, 12)
    Execution.objects.filter(pk=step.pk).update(run_id=step.pk)
    WorkflowRun.objects.create(
        id=step.pk,
        execution_id=step.pk,
        tenant_id=alpha.id,
        task_id=step.task_id,
        version=1,
        partition=0,
        take=1,
        phase="running",
        states=b"\0",
        takes=b"\0",
        scheduled_for=ago(12),
        began_at=ago(12),
        deadline_at=database_now(),
        root_id=step.pk,
        depth=0,
    )
    keep(alpha, 10)

    assert tenant_retention.remove_old(database_now()) == 0


def test_a_restored_day_is_kept_as_long_as_its_restore_says(alpha: Tenant):
    put(alpha, 12)
    keep(alpha, 10)
    ledger.keep_until([ago(12)], database_now() + ledger.DAY)

    assert tenant_retention.remove_old(database_now()) == 0
    ledger.keep_until([ago(12)], database_now() - 2 * ledger.DAY)
    assert tenant_retention.remove_old(database_now()) == 1


def test_a_tenants_days_are_never_more_than_the_installations(alpha: Tenant):
    assert tenant_retention.days_of(alpha.id) == 90
    keep(alpha, 365)
    assert tenant_retention.days_of(alpha.id) == 90
    keep(alpha, 7)
    assert tenant_retention.days_of(alpha.id) == 7


def test_a_round_ends_when_its_time_is_over(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tenant_retention, "_LONGEST_SECONDS", -1.0)
    put(alpha, 12)
    keep(alpha, 10)

    assert tenant_retention.remove_old(database_now()) == 0


def test_a_day_that_is_restored_while_a_batch_is_read_stays(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    restored = put(alpha, 12)
    keep(alpha, 10)
    real, looks = tenant_retention._kept_days, []

    def look() -> dict[str, Any]:
        looks.append(real())
        if len(looks) == 1:
            ledger.keep_until([ago(12)], database_now() + ledger.DAY)
        return looks[-1]

    monkeypatch.setattr(tenant_retention, "_kept_days", look)

    assert tenant_retention.remove_old(database_now()) == 0
    assert left(alpha) == [restored.id]


@pytest.mark.logs("tenant_history.not_removed", reason="locked")
def test_a_tenant_whose_history_is_locked_keeps_no_other_from_its_own(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    for tenant in (alpha, beta):
        put(tenant, 12)
        keep(tenant, 10)
    real = tenant_retention._remove_of

    def remove(tenant_id: UUID, *given: Any) -> int:
        if tenant_id == alpha.id:
            raise OperationalError("locked\n")
        return real(tenant_id, *given)

    monkeypatch.setattr(tenant_retention, "_remove_of", remove)

    assert tenant_retention.remove_old(database_now()) == 1
    assert (len(left(alpha)), len(left(beta))) == (1, 0)
