"""Who is told, and what keeps a message back."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from notifications.choices import AlertKind
from notifications.models import AlertMute, AlertTask, NotificationPreference
from notifications.recipients import (
    after_quiet_hours,
    in_quiet_hours,
    kept_back,
    preference_of,
    recipient_of,
    recipients_of,
)
from shared.ids import new_id
from tests.factories import make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "zone", "quiet"),
    [
        (time(22), time(23), "UTC", True),
        (time(22), time(7), "UTC", True),
        (time(23), time(7), "UTC", False),
        (time(23), time(7), "Europe/Berlin", True),
        (time(8), time(22), "UTC", False),
        (None, None, "UTC", False),
    ],
)
def test_quiet_hours_go_by_the_members_clock_and_over_midnight(
    start: time | None, end: time | None, zone: str, quiet: bool
) -> None:
    wish = NotificationPreference(quiet_from=start, quiet_to=end, timezone=zone)

    assert in_quiet_hours(wish, "first_failure", NOW) is quiet


@pytest.mark.parametrize(
    ("start", "end", "zone", "minutes"),
    [
        (time(22), time(23), "UTC", 30),
        (time(22), time(7), "UTC", 510),
        (time(21), time(0, 15), "Europe/Berlin", 45),
        (time(23), time(7), "UTC", 0),
        (None, None, "UTC", 0),
    ],
)
def test_what_falls_into_quiet_hours_goes_at_their_end(
    start: time | None, end: time | None, zone: str, minutes: int
) -> None:
    wish = NotificationPreference(quiet_from=start, quiet_to=end, timezone=zone)

    found = after_quiet_hours(wish, "first_failure", NOW)

    assert found == NOW + timedelta(minutes=minutes)
    assert not in_quiet_hours(wish, "first_failure", found)


def test_final_failures_come_through_quiet_hours_unless_told_otherwise() -> None:
    wish = NotificationPreference(quiet_from=time(22), quiet_to=time(7))
    assert not in_quiet_hours(wish, "final_failure", NOW)

    wish.quiet_except_final = False

    assert in_quiet_hours(wish, "final_failure", NOW)


def test_urgent_alerts_come_through_quiet_hours() -> None:
    member = make_member(make_tenant())
    alert = make_alert(member.tenant, kind="first_failure")
    NotificationPreference.objects.create(
        membership=member, email_events=["first_failure"], quiet_from=time(22), quiet_to=time(7)
    )
    recipient = recipient_of(member.pk)
    assert recipient is not None
    assert kept_back(recipient, "email", alert, NOW) == "quiet_hours"

    alert.urgent = True

    assert kept_back(recipient, "email", alert, NOW) == ""


def test_a_muted_task_mutes_no_alert_that_is_about_no_task() -> None:
    member = make_member(make_tenant())
    alert = make_alert(member.tenant, kind="quota_near")
    NotificationPreference.objects.create(membership=member, muted_task_ids=[new_id()])
    recipient = recipient_of(member.pk)
    assert recipient is not None

    assert kept_back(recipient, "email", alert, NOW) == ""


def test_an_alert_whose_every_task_is_muted_is_kept_back() -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    alert = make_alert(tenant)
    assert alert.task_id is not None
    AlertTask.objects.create(alert=alert, task_id=alert.task_id)
    NotificationPreference.objects.create(membership=member, muted_task_ids=[alert.task_id])
    recipient = recipient_of(member.pk)
    assert recipient is not None
    assert kept_back(recipient, "email", alert, NOW) == "muted"

    AlertTask.objects.create(alert=alert, task_id=tenant.id)

    assert kept_back(recipient, "email", alert, NOW) == ""


def test_a_members_own_mute_is_theirs_alone() -> None:
    tenant = make_tenant()
    muted, other = make_member(tenant), make_member(tenant, "bob", email="bob@example.com")
    alert = make_alert(tenant)
    AlertMute.objects.create(alert=alert, membership=muted, until=NOW + timedelta(hours=1))

    found = {one.membership: one for one in recipients_of([tenant.id])[tenant.id]}

    assert kept_back(found[muted], "email", alert, NOW) == "muted"
    assert kept_back(found[other], "email", alert, NOW) == ""


def test_a_member_without_a_row_has_the_defaults() -> None:
    member = make_member(make_tenant())

    wish = preference_of(member)

    everything = list(AlertKind.values)
    assert wish.push_events == wish.console_events == everything
    assert wish.email_events == [kind for kind in everything if kind != "first_failure"]


def test_an_inactive_user_is_no_recipient() -> None:
    tenant = make_tenant()
    member = make_member(tenant, is_active=False)

    assert recipient_of(member.pk) is None
    assert recipients_of([tenant.id]) == {}
