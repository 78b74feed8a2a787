"""Muting alerts, for everybody and for oneself."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from notifications.models import Alert, AlertMute
from notifications.services.alerts import MOST_MINUTES, mute_alert, mute_alert_for_member
from shared.exceptions import InvalidInput, NotFound
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
