"""Failures counted into alerts, each exactly once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from executions.loop.clocks import database_now
from notifications.findings import Cause, Finding
from notifications.incidents import DIGEST_AFTER, GATHER, count_findings
from notifications.models import Alert
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


def failure(tenant: Tenant, task_id: UUID, host: str = "api.example.com") -> Finding:
    return Finding(
        cause=Cause(tenant.id, "final_failure", "http_status:503", host),
        sentence="HTTP 503",
        execution_id=new_id(),
        task_id=task_id,
        task_name="nightly-invoice",
        attempt=5,
        error_code="http_status",
        error_message="The answer was 503.",
        at=database_now(),
    )


@recounts("alert.count", "alert.task_count")
def test_failures_of_one_cause_share_an_alert_and_tasks_are_counted_once() -> None:
    tenant, now = make_tenant(), database_now()
    first, second = new_id(), new_id()

    count_findings([failure(tenant, first), failure(tenant, second)], now)
    count_findings([failure(tenant, first)], now)

    alert = Alert.objects.get()
    assert (alert.count, alert.task_count) == (3, 2)
    assert alert.next_notice_at == now + GATHER


def test_another_destination_has_its_own_alert() -> None:
    tenant, now = make_tenant(), database_now()

    count_findings([failure(tenant, new_id()), failure(tenant, new_id(), "other.example.com")], now)

    assert Alert.objects.count() == 2


def test_growth_is_told_once_per_digest() -> None:
    tenant, now = make_tenant(), database_now()
    count_findings([failure(tenant, new_id())], now)
    told = now - timedelta(minutes=1)
    Alert.objects.update(last_notified_at=told, notified_count=1)

    count_findings([failure(tenant, new_id())], now)

    assert Alert.objects.get().next_notice_at == told + DIGEST_AFTER


def test_a_closed_alert_stays_closed() -> None:
    tenant, now = make_tenant(), database_now()
    count_findings([failure(tenant, new_id())], now)
    Alert.objects.update(closed_at=now, next_notice_at=None)

    count_findings([failure(tenant, new_id())], now)

    assert sorted(Alert.objects.values_list("count", flat=True)) == [1, 1]


def test_no_failures_touch_nothing() -> None:
    assert count_findings([], database_now()) == []
