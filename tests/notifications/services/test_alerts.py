"""Muting alerts, for everybody and for oneself; who works on one."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from notifications.models import Alert, AlertMute
from notifications.services.alerts import (
    MOST_MINUTES,
    acknowledge_alert,
    assign_alert,
    mute_alert,
    mute_alert_for_member,
)
from shared.exceptions import Conflict, InvalidInput, NotFound
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db


def test_a_mute_ends_with_zero_minutes_and_is_audited() -> None:
    tenant = make_tenant()
    alert = make_alert(tenant)

    assert mute_alert(tenant.id, alert.id, minutes=60, actor=ACTOR).muted_until is not None
    assert mute_alert(tenant.id, alert.id, minutes=0, actor=ACTOR).muted_until is None

    assert AuditEntry.objects.filter(action="alert.muted").count() == 2


@pytest.mark.parametrize("minutes", [-1, MOST_MINUTES + 1])
def test_a_mute_is_bounded(minutes: int) -> None:
    tenant = make_tenant()

    with pytest.raises(InvalidInput):
        mute_alert(tenant.id, make_alert(tenant).id, minutes=minutes, actor=ACTOR)


def test_another_tenants_alert_cannot_be_muted() -> None:
    alert = make_alert(make_tenant("Alpha"))

    with pytest.raises(NotFound):
        mute_alert(make_tenant("Beta").id, alert.id, minutes=60, actor=ACTOR)

    assert Alert.objects.get().muted_until is None


def test_a_members_mute_is_renewed_and_not_doubled() -> None:
    tenant = make_tenant()
    member, alert = make_member(tenant), make_alert(tenant)

    for minutes in (60, 120):
        mute_alert_for_member(alert.id, member.pk, minutes=minutes, address="127.0.0.1")

    assert AlertMute.objects.count() == 1


def test_an_acknowledgement_is_noted_once_and_taken_back() -> None:
    tenant = make_tenant()
    alert = make_alert(tenant)

    for wanted in (True, True, False, False):
        acknowledge_alert(tenant.id, alert.id, acknowledged=wanted, actor=ACTOR)

    kept = Alert.objects.get()
    assert (kept.acknowledged_at, kept.acknowledged_by) == (None, "")
    assert AuditEntry.objects.filter(action="alert.acknowledged").count() == 2


def test_what_is_over_is_not_acknowledged() -> None:
    tenant = make_tenant()
    alert = make_alert(tenant)
    Alert.objects.update(closed_at=alert.last_at, next_notice_at=None)

    with pytest.raises(Conflict):
        acknowledge_alert(tenant.id, alert.id, actor=ACTOR)


def test_an_alert_is_assigned_to_members_of_its_tenant_only() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    member, stranger = make_member(tenant), make_member(other, "eve")
    gone = make_member(tenant, "bob", is_active=False)
    alert = make_alert(tenant)

    assert assign_alert(tenant.id, alert.id, member_id=member.pk, actor=ACTOR).assignee == member
    for wrong in (stranger, gone):
        with pytest.raises(InvalidInput):
            assign_alert(tenant.id, alert.id, member_id=wrong.pk, actor=ACTOR)
    with pytest.raises(NotFound):
        assign_alert(other.id, alert.id, member_id=None, actor=ACTOR)
    assert assign_alert(tenant.id, alert.id, member_id=None, actor=ACTOR).assignee_id is None
    assert AuditEntry.objects.filter(action="alert.assigned").count() == 2


def test_the_alert_outlives_the_member_who_worked_on_it() -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    alert = make_alert(tenant)
    assign_alert(tenant.id, alert.id, member_id=member.pk, actor=ACTOR)

    member.delete()

    assert Alert.objects.get().assignee_id is None
