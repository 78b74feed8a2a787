"""Which channels hear of an alert, once for each notice, and how a storm is bundled."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.channel_notices import hears
from notifications.models import Alert, AlertChannel, AlertRule, Delivery
from notifications.notices import plan_due_notices, seconds_until_due
from notifications.services.alerts import acknowledge_alert, mute_alert
from notifications.services.deliveries import send_delivery
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import pass_time
from tests.support.alert_channels import make_channel
from tests.support.alerts import make_alert
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db(transaction=True)
CHAT = {"kind": "chat", "url": "ntfys://ntfy.example.com/topic"}
PAGER = {"kind": "chat", "url": f"pagerduty://{'a' * 32}@{'b' * 20}"}


def owed(**which: Any) -> list[tuple[Any, int, bool, str]]:
    rows = Delivery.objects.filter(alert_channel__isnull=False, **which).order_by("id")
    return list(rows.values_list("alert_id", "notice_number", "closing", "status"))


def grow(alert: Alert) -> None:
    Alert.objects.filter(pk=alert.pk).update(count=alert.count + 1)


def test_a_channel_gets_the_kinds_that_it_names_of_its_own_tenant() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    make_channel(tenant, kinds=["final_failure"])
    make_channel(other)
    final = make_alert(tenant)
    make_alert(tenant, kind="first_failure")

    plan_due_notices()

    assert owed() == [(final.id, 1, False, "PENDING")]


def test_a_channel_hears_the_rules_that_it_names_besides() -> None:
    tenant = make_tenant()
    rule = AlertRule.objects.create(tenant=tenant, name="mine", kind="late_start")
    named = make_channel(tenant, "named", kinds=[], rules=[str(rule.pk)])
    make_channel(tenant, "other", kinds=["did_not_run"])
    alert = make_alert(tenant, kind="late_start")
    Alert.objects.update(rule=rule)

    plan_due_notices()

    assert Delivery.objects.get(alert_channel__isnull=False).alert_channel == named
    alert.refresh_from_db()
    assert [hears(one, alert) for one in AlertChannel.objects.order_by("name")] == [True, False]


def test_a_narrower_rule_takes_no_alert_from_a_channel_that_names_its_kind() -> None:
    tenant = make_tenant()
    rule = AlertRule.objects.create(tenant=tenant, name="mine", kind="final_failure")
    make_channel(tenant, kinds=["final_failure"])
    alert = make_alert(tenant)
    Alert.objects.update(rule=rule)

    plan_due_notices()

    assert owed() == [(alert.id, 1, False, "PENDING")]


def test_a_waiting_message_covers_later_counts() -> None:
    tenant = make_tenant()
    make_channel(tenant)
    alert = make_alert(tenant)
    plan_due_notices()

    grow(alert)
    pass_time(minutes=6)
    plan_due_notices()
    assert owed() == [(alert.id, 1, False, "PENDING")]

    Delivery.objects.update(status="SENT", count_shown=2)
    grow(alert)
    Alert.objects.update(count=4)
    pass_time(minutes=6)
    plan_due_notices()
    assert owed() == [(alert.id, 1, False, "SENT"), (alert.id, 3, False, "PENDING")]


def test_the_end_goes_to_those_that_were_told() -> None:
    tenant = make_tenant()
    make_channel(tenant, "told")
    alert = make_alert(tenant)
    plan_due_notices()
    make_channel(tenant, "too late")

    pass_time(minutes=16)
    plan_due_notices()

    alert.refresh_from_db()
    assert alert.closed_at is not None
    assert owed() == [(alert.id, 1, False, "PENDING"), (alert.id, 2, True, "PENDING")]


@pytest.mark.parametrize("status", ["FAILED", "SUPPRESSED"])
def test_who_was_not_told_hears_of_no_end(status: str) -> None:
    tenant = make_tenant()
    make_channel(tenant)
    make_alert(tenant)
    plan_due_notices()
    Delivery.objects.update(status=status, reason="muted")

    pass_time(minutes=16)
    plan_due_notices()

    assert len(owed()) == 1


def test_a_storm_is_bundled_for_people_and_told_one_by_one_to_programs() -> None:
    tenant = make_tenant()
    for name, parts in (("people", CHAT), ("pager", PAGER), ("program", {})):
        make_channel(tenant, name, **parts)
    for number in range(15):
        make_alert(tenant, number)

    plan_due_notices()

    bundled = {
        name: Delivery.objects.filter(alert_channel__name=name, bundled=True).count()
        for name in ("people", "pager", "program")
    }
    assert bundled == {"people": 5, "pager": 0, "program": 0}
    assert len(owed()) == 45


def test_a_suspended_tenants_channels_are_told_nothing() -> None:
    tenant = make_tenant()
    make_channel(tenant)
    make_alert(tenant)
    suspend(tenant)

    plan_due_notices()

    found = Delivery.objects.get(alert_channel__isnull=False)
    assert (found.status, found.reason) == ("SUPPRESSED", "tenant_suspended")


def test_an_acknowledged_alert_is_told_again_at_its_end_only() -> None:
    tenant = make_tenant()
    make_channel(tenant)
    alert = make_alert(tenant)
    plan_due_notices()
    Delivery.objects.update(status="SENT", count_shown=2)
    acknowledge_alert(tenant.id, alert.id, actor=ACTOR)

    Alert.objects.update(count=5)
    for _ in range(4):
        pass_time(minutes=6)
        plan_due_notices()

    assert owed() == [(alert.id, 1, False, "SENT"), (alert.id, 2, True, "PENDING")]


def test_what_was_kept_back_is_told_when_the_acknowledgement_is_taken_back() -> None:
    tenant = make_tenant()
    make_channel(tenant)
    alert = make_alert(tenant)
    acknowledge_alert(tenant.id, alert.id, actor=ACTOR)
    plan_due_notices()
    assert owed() == []

    acknowledge_alert(tenant.id, alert.id, acknowledged=False, actor=ACTOR)
    plan_due_notices()

    assert owed() == [(alert.id, 1, False, "PENDING")]


def escalating(**parts: Any) -> tuple[Alert, AlertChannel]:
    """Return an alert that is told, and a channel that hears of it after two minutes."""
    tenant = make_tenant()
    channel = make_channel(tenant, after_seconds=120, **parts)
    alert = make_alert(tenant)
    plan_due_notices()
    assert owed() == []
    return alert, channel


def test_an_alert_escalates_once_when_its_time_comes() -> None:
    alert, _ = escalating()
    wait = seconds_until_due()
    assert wait is not None
    assert wait <= 120

    pass_time(minutes=1)
    plan_due_notices()
    assert owed() == []
    for _ in range(2):
        pass_time(minutes=1)
        plan_due_notices()

    assert owed() == [(alert.id, 1, False, "PENDING")]


def test_what_has_escalated_is_told_of_further_counts_and_of_the_end() -> None:
    alert, _ = escalating()
    pass_time(minutes=2)
    plan_due_notices()
    Delivery.objects.update(status="SENT", count_shown=2)

    Alert.objects.update(count=5, next_notice_at=alert.last_at)
    plan_due_notices()
    pass_time(minutes=16)
    plan_due_notices()

    told = [(number, closing) for _, number, closing, _ in owed()]
    assert told == [(1, False), (2, False), (3, True)]
    assert {one for one, *_ in owed()} == {alert.id}


def test_an_acknowledged_or_muted_alert_does_not_escalate() -> None:
    alert, _ = escalating()
    acknowledge_alert(alert.tenant_id, alert.id, actor=ACTOR)
    pass_time(minutes=3)
    plan_due_notices()
    assert owed() == []

    acknowledge_alert(alert.tenant_id, alert.id, acknowledged=False, actor=ACTOR)
    mute_alert(alert.tenant_id, alert.id, minutes=5, actor=ACTOR)
    plan_due_notices()
    assert owed() == []
    pass_time(minutes=5)
    plan_due_notices()

    assert owed() == [(alert.id, 1, False, "PENDING")]


@pytest.mark.parametrize("reason", ["acknowledged", "muted"])
def test_an_escalation_that_was_kept_back_comes_when_its_reason_is_gone(reason: str) -> None:
    alert, _ = escalating()
    pass_time(minutes=2)
    plan_due_notices()
    # Acknowledged, or muted for some minutes, between the planning and the sending.
    if reason == "muted":
        mute_alert(alert.tenant_id, alert.id, minutes=5, actor=ACTOR)
    else:
        acknowledge_alert(alert.tenant_id, alert.id, actor=ACTOR)
    [row] = Delivery.objects.filter(alert_channel__isnull=False)
    plan_due_notices()
    assert send_delivery(row.pk) == "SUPPRESSED"
    assert Delivery.objects.get(pk=row.pk).reason == reason

    if reason == "muted":
        pass_time(minutes=5)
    else:
        acknowledge_alert(alert.tenant_id, alert.id, acknowledged=False, actor=ACTOR)
    plan_due_notices()

    assert owed() == [(alert.id, 1, False, "SUPPRESSED"), (alert.id, 2, False, "PENDING")]


def test_an_alert_that_is_over_in_time_escalates_to_none() -> None:
    escalating()
    Alert.objects.update(recovered_at=Alert.objects.get().last_at)
    pass_time(minutes=3)

    plan_due_notices()

    assert Alert.objects.get().closed_at is not None
    assert owed() == []
