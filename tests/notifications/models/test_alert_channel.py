"""The database refuses channels and deliveries that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from notifications.models import AlertChannel, Delivery
from notifications.models.alert_channel import heard_by_default
from tests.factories import make_tenant
from tests.notifications.cast import make_member
from tests.support.alert_channels import make_channel
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("wrong", [{"name": ""}, {"kind": "mail"}, {"kinds": ["recovered"]}])
def test_a_channel_has_a_name_and_known_kinds(wrong: dict[str, Any]) -> None:
    make_channel(make_tenant())

    with pytest.raises(IntegrityError):
        AlertChannel.objects.update(**wrong)


def test_the_default_leaves_first_failures_out() -> None:
    assert "first_failure" not in heard_by_default()
    assert "final_failure" in heard_by_default()


@pytest.mark.parametrize("receivers", ["", "member", "channel", "member channel"])
def test_a_delivery_goes_to_a_member_or_to_a_channel(receivers: str) -> None:
    tenant = make_tenant()
    member, channel = make_member(tenant), make_channel(tenant)
    alert = make_alert(tenant)
    delivery = Delivery(
        alert=alert, channel="email", notice_number=1, next_attempt_at=alert.last_at
    )
    if "member" in receivers:
        delivery.membership = member
    if "channel" in receivers:
        delivery.alert_channel = channel

    if len(receivers.split()) == 1:
        delivery.save()
    else:
        with pytest.raises(IntegrityError):
            delivery.save()


def test_a_notice_goes_to_a_channel_once() -> None:
    tenant = make_tenant()
    channel, alert = make_channel(tenant), make_alert(tenant)
    parts = {"alert": alert, "alert_channel": channel, "channel": "webhook", "notice_number": 1}
    Delivery.objects.create(**parts, next_attempt_at=alert.last_at)

    with pytest.raises(IntegrityError):
        Delivery.objects.create(**parts, next_attempt_at=alert.last_at)
