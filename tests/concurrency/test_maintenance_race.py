"""A window that a person ends while the alerter plans under it holds no alert any longer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from executions.loop.clocks import database_now
from notifications.models import Alert, MaintenanceWindow
from notifications.notices import plan_due_notices
from notifications.services.maintenance import WindowFields, create_window, end_window
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def held_alert() -> tuple[Tenant, MaintenanceWindow, Alert]:
    tenant = make_tenant()
    make_member(tenant)
    ends = database_now() + timedelta(days=30)
    window = create_window(tenant.id, WindowFields("Upgrade", ends_at=ends), actor=ACTOR)
    alert = make_alert(tenant)
    return tenant, window, alert


def test_a_window_that_ends_while_notices_are_planned_lets_the_alert_go(
    beside: Callable[..., Any],
) -> None:
    tenant, window, alert = held_alert()

    with transaction.atomic():
        assert plan_due_notices() == []
        ending = beside(lambda: end_window(tenant.id, window.pk, actor=ACTOR))
        assert ending.waits_for_a_lock()
    ending.join()

    assert [one.alert for one in plan_due_notices()] == [alert]


def test_a_window_that_is_being_ended_holds_nothing_and_keeps_no_alerter_waiting(
    beside: Callable[..., Any],
) -> None:
    tenant, window, alert = held_alert()

    with transaction.atomic():
        end_window(tenant.id, window.pk, actor=ACTOR)
        told = beside(plan_due_notices).join()

    assert [one.alert for one in told] == [alert]
