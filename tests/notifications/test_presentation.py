"""Alerts, deliveries and wishes as the API answers them."""

from __future__ import annotations

from datetime import time

import pytest

from notifications.models import NotificationPreference
from notifications.notices import plan_due_notices
from notifications.presentation import present_alert, present_alert_detail, present_preference
from tests.factories import make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db


def test_an_alert_without_an_error_says_none() -> None:
    shown = present_alert(make_alert(make_tenant()))

    assert shown["error"] is None
    assert shown["count"] == 2


def test_the_log_names_who_was_told_how() -> None:
    tenant = make_tenant()
    make_member(tenant)
    alert = make_alert(tenant)
    plan_due_notices()

    log = present_alert_detail(alert)["deliveries"]

    assert {(line["user"], line["channel"], line["status"]) for line in log} == {
        ("ada", "email", "PENDING"),
        ("ada", "console", "SENT"),
    }


def test_quiet_hours_are_shown_as_clock_times() -> None:
    member = make_member(make_tenant())
    wish = NotificationPreference(membership=member, quiet_from=time(22), quiet_to=time(7, 30))

    shown = present_preference(wish)

    assert (shown["quiet_from"], shown["quiet_to"]) == ("22:00", "07:30")
    assert shown["effective_email_address"] == "ada@example.com"
