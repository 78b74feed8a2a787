from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from notifications.models import RuleMinute
from notifications.services.maintenance import WindowFields, create_window
from notifications.services.rules import create_rule
from notifications.windows import sums_of
from shared.sql import rows
from shared.sql_arrays import of_uuids
from tests.factories import ACTOR, make_tenant
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db


def test_windows_and_ends_of_alerts_are_read_by_their_indexes(plans: Any):
    tenant = make_tenant()
    rule, other = (
        create_rule(tenant.id, {"kind": "failure_share", "name": name}, actor=ACTOR)
        for name in ("asked", "other")
    )
    now = database_now()
    minutes = [now - timedelta(minutes=minute) for minute in range(1440)]
    RuleMinute.objects.bulk_create(
        [
            RuleMinute(rule=one, minute=minute, ended=1, failed=1)
            for one in (rule, other)
            for minute in minutes
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE alert_rule_minutes")
    make_alert(tenant)

    window = create_window(
        tenant.id, WindowFields("Upgrade", ends_at=now + timedelta(hours=1)), actor=ACTOR
    )

    with plans() as found:
        assert sums_of({rule.id: 3600}, now)[rule.id][0] in (60, 61)
        rows("alert_rules/ended_streaks")
        rows("alert_rules/keep", {"rules": of_uuids([rule.id])})
        assert rows("maintenance_windows/keep", {"windows": of_uuids([window.pk])})

    found.check(
        *("alert_rules/forget_minutes", "alert_rules/sums", "alert_rules/ended_streaks"),
        *("alert_rules/keep", "maintenance_windows/keep"),
    )
