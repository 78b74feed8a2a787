"""When a pass judges, and what it leaves alone."""

from __future__ import annotations

import pytest

from executions.ownership import fence
from notifications.models import Alert
from notifications.time_checks import stage
from notifications.time_checks.installation import Troubles
from tenants.models import Tenant
from tests.notifications.time_checks.world import LATE, NONE, due, judged, unprepared
from tests.support.closed_redis import closed_redis
from wire import heartbeats

pytestmark = pytest.mark.django_db


def test_without_redis_no_pool_is_taken_for_one_without_a_worker(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    due(alpha, 70, pool="gpu")
    assert judged(alpha) == NONE
    monkeypatch.setattr(heartbeats, "client", closed_redis)

    assert judged(alpha) == sorted([*LATE, *NONE]), "it is open until Redis says otherwise"


def test_behind_the_fence_of_a_restore_nothing_is_overdue(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    unprepared(alpha, 25)
    monkeypatch.setattr(fence, "holds", lambda: True)

    assert judged(alpha) == []


def test_the_first_pass_leaves_a_new_installation_time(alpha: Tenant):
    unprepared(alpha, 25)
    checks = stage.TimeChecks()

    assert checks.run_once() == stage.EVERY_SECONDS
    assert not Alert.objects.exists()
    assert checks.run_once() == stage.EVERY_SECONDS
    assert Alert.objects.count() == 1


def test_a_pass_is_left_out_while_another_process_opens_or_ends_alerts(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    unprepared(alpha, 25)
    monkeypatch.setattr(stage, "lock_cursor", lambda consumer: False)

    assert not stage.check(Troubles())
    assert not Alert.objects.exists()
