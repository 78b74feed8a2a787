"""Alerts in maintenance windows are kept, counted, and told in one message afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from notifications import notices
from notifications.built_in_rules import built_in_id
from notifications.maintenance import active_until, covered, hold
from notifications.models import Alert, AlertTask, Delivery, MaintenanceWindow
from notifications.notices import plan_due_notices
from notifications.services.deliveries import send_delivery
from notifications.services.maintenance import WindowFields, create_window, end_window
from notifications.services.preferences import update_preference
from tenants.models import Membership, Tenant
from tests.factories import ACTOR, daily, make_task, make_tenant
from tests.notifications.cast import make_member, pass_time
from tests.support.alert_channels import make_channel
from tests.support.alerts import make_alert
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp

pytestmark = pytest.mark.django_db(transaction=True)

NIGHTS = {"weekdays": [7], "from_time": time(22), "to_time": time(2), "timezone": "Europe/Berlin"}


def weekly(**parts: Any) -> MaintenanceWindow:
    return MaintenanceWindow(name="Nights", scope="all", **{**NIGHTS, **parts})


def hour(tenant: Tenant, **parts: Any) -> MaintenanceWindow:
    ends = database_now() + timedelta(hours=1)
    return create_window(tenant.id, WindowFields("Upgrade", ends_at=ends, **parts), actor=ACTOR)


def end_now(tenant: Tenant) -> None:
    end_window(tenant.id, MaintenanceWindow.objects.get().pk, actor=ACTOR)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2027-01-03T20:59:59Z", None),
        ("2027-01-03T21:00:00Z", "2027-01-04T01:00:00Z"),
        ("2027-01-04T00:59:59Z", "2027-01-04T01:00:00Z"),
        ("2027-01-04T01:00:00Z", None),
        ("2027-01-04T21:30:00Z", None),
        # The night of the change of clocks: from 22:00 +01:00 until 02:00, which comes first.
        ("2027-03-28T00:30:00Z", None),
        ("2027-03-28T20:30:00Z", "2027-03-29T00:00:00Z"),
    ],
)
def test_a_weekly_window_opens_by_the_clock_of_its_zone(now: str, until: str | None) -> None:
    found = active_until(weekly(), datetime.fromisoformat(now))

    assert found == (None if until is None else datetime.fromisoformat(until))


@pytest.mark.parametrize(
    ("clocks", "opened"),
    [
        # On 2027-03-28 the clocks of Berlin skip from 02:00 to 03:00, which is 01:00Z.
        ((time(2, 30), time(3, 15)), ("01:00", "01:15")),
        ((time(1, 30), time(2, 30)), ("00:30", "01:00")),
        ((time(2, 15), time(2, 45)), None),
    ],
)
def test_what_the_clocks_skip_is_cut_off_a_weekly_window(
    clocks: tuple[time, time], opened: tuple[str, str] | None
) -> None:
    window = weekly(from_time=clocks[0], to_time=clocks[1])
    minutes = [
        datetime(2027, 3, 28, 0, 0, tzinfo=UTC) + timedelta(minutes=passed) for passed in range(120)
    ]

    found = [now for now in minutes if active_until(window, now)]

    if opened is None:
        assert found == []
    else:
        ends = active_until(window, found[0])
        assert ends is not None
        assert (f"{found[0]:%H:%M}", f"{ends:%H:%M}") == opened


def test_a_window_within_a_day_does_not_go_over_midnight() -> None:
    window = weekly(from_time=time(8), to_time=time(9), timezone="UTC")

    assert active_until(window, datetime.fromisoformat("2027-01-03T08:30:00Z"))
    assert not active_until(window, datetime.fromisoformat("2027-01-04T08:30:00Z"))


def test_what_was_held_back_is_one_message_after_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant("acme")
    make_member(tenant)
    hour(tenant)
    for number in range(3):
        make_alert(tenant, number)
    assert plan_due_notices() == []
    assert not Delivery.objects.exists()
    Alert.objects.filter(task_name="task 1").update(count=5)

    end_now(tenant)
    assert len(plan_due_notices()) == 3
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        for delivery in Delivery.objects.filter(status="PENDING"):
            send_delivery(delivery.id)

    [mail] = sink.messages
    assert mail["Subject"] == "[failed] 3 alerts (acme): 9 failures"


def test_a_window_that_ends_by_itself_lets_its_alerts_go() -> None:
    tenant = make_tenant()
    make_member(tenant)
    window = hour(tenant)
    alert = make_alert(tenant)
    plan_due_notices()
    alert.refresh_from_db()
    assert alert.held_until == alert.next_notice_at == window.ends_at

    now = database_now()
    MaintenanceWindow.objects.update(begins_at=now - timedelta(hours=2), ends_at=now)
    pass_time(minutes=60)
    assert [one.alert for one in plan_due_notices()] == [alert]


def test_an_alert_that_is_over_within_the_window_is_told_once_as_over() -> None:
    tenant = make_tenant()
    make_member(tenant)
    hour(tenant)
    alert = make_alert(tenant)
    Alert.objects.update(recovered_at=database_now())
    assert plan_due_notices() == []
    alert.refresh_from_db()
    assert alert.closed_at is None

    end_now(tenant)

    assert [one.closing for one in plan_due_notices()] == [True]


def test_another_window_goes_on_holding_what_one_lets_go() -> None:
    tenant = make_tenant()
    make_member(tenant)
    first, _ = hour(tenant), hour(tenant)
    make_alert(tenant)
    plan_due_notices()

    end_window(tenant.id, first.pk, actor=ACTOR)

    assert plan_due_notices() == []


def test_neither_shared_channels_nor_escalations_hear_of_it_meanwhile() -> None:
    tenant = make_tenant()
    make_channel(tenant, url="https://hooks.example.com/a")
    make_channel(tenant, name="second", url="https://hooks.example.com/b", after_seconds=1)
    hour(tenant)
    make_alert(tenant)
    pass_time(minutes=5)
    plan_due_notices()
    assert not Delivery.objects.exists()

    end_now(tenant)
    plan_due_notices()

    assert Delivery.objects.filter(alert_channel__name="second").count() == 1
    assert Delivery.objects.count() == 2


def test_alerts_of_other_tenants_are_told() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    make_member(beta)
    hour(alpha)
    make_alert(beta)

    assert len(plan_due_notices()) == 1


def alert_of(tenant: Tenant, number: int, *labels: dict[str, str]) -> Alert:
    alert = make_alert(tenant, number)
    tasks = [make_task(tenant, daily(labels=one)) for one in labels]
    AlertTask.objects.bulk_create([AlertTask(alert=alert, task_id=task.id) for task in tasks])
    return alert


def test_a_window_of_a_label_covers_alerts_of_which_each_task_has_it() -> None:
    tenant = make_tenant()
    window = hour(tenant, scope="label", value="team:data")
    data, web = {"team": "data", "x": "y"}, {"team": "web"}
    both = alert_of(tenant, 0, data, data)
    mixed, about_none = alert_of(tenant, 1, data, web), alert_of(tenant, 2)

    assert covered(window, [both, mixed, about_none]) == {both.pk}


def test_a_window_of_a_task_or_a_rule_covers_its_alerts_alone() -> None:
    tenant = make_tenant()
    alert = alert_of(tenant, 0, {})
    [task_id] = AlertTask.objects.values_list("task_id", flat=True)
    other = make_task(tenant, daily())
    kind = built_in_id(tenant.id, "final_failure")
    another = built_in_id(tenant.id, "no_worker")

    assert covered(hour(tenant, scope="task", value=str(task_id)), [alert]) == {alert.pk}
    assert not covered(hour(tenant, scope="task", value=str(other.id)), [alert])
    assert covered(hour(tenant, scope="rule", value=str(kind)), [alert]) == {alert.pk}
    assert not covered(hour(tenant, scope="rule", value=str(another)), [alert])


def test_more_alerts_cost_a_window_no_more_statements(django_assert_num_queries: Any) -> None:
    tenant = make_tenant()
    hour(tenant, scope="label", value="team:data")
    alerts = [alert_of(tenant, number, {"team": "data"}) for number in range(3)]

    now = database_now()

    for some in (alerts[:1], alerts):
        with django_assert_num_queries(3):  # the windows, their locks, the alerts of the one
            hold(some, now)

    assert all(alert.held_until for alert in alerts)


def test_of_several_windows_the_last_to_end_decides() -> None:
    tenant = make_tenant()
    later = hour(tenant)
    ends = database_now() + timedelta(minutes=5)
    create_window(tenant.id, WindowFields("Short", ends_at=ends), actor=ACTOR)
    alert = make_alert(tenant)

    hold([alert], database_now())

    assert alert.held_until == later.ends_at


def test_a_member_may_gather_e_mail_and_gets_urgent_alerts_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant("acme")
    gathers, _ = make_member(tenant), make_member(tenant, "bob", email="bob@example.com")
    update_preference(tenant.id, gathers.pk, {"digest_minutes": 60}, actor=ACTOR)
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)

        def tell() -> list[str]:
            sink.raw.clear()
            plan_due_notices()
            for delivery in Delivery.objects.filter(status="PENDING"):
                send_delivery(delivery.id)
            return [str(one["Subject"]) for one in sink.messages if one["To"] == "ada@example.com"]

        make_alert(tenant, 0)
        assert tell() == []
        assert len(sink.messages) == 1  # bob's
        pass_time(minutes=50)
        make_alert(tenant, 1)
        Alert.objects.filter(pk=make_alert(tenant, 2).pk).update(urgent=True)
        assert len(tell()) == 1
        pass_time(minutes=10)
        assert tell() == ["[failed] 2 alerts (acme): 4 failures"]


def gathering(tenant: Tenant, **changes: Any) -> Membership:
    """Let the tenant's one member gather e-mail for a day."""
    member = make_member(tenant)
    update_preference(tenant.id, member.pk, {"digest_minutes": 1440, **changes}, actor=ACTOR)
    return member


def waits_of(**parts: Any) -> list[timedelta]:
    """Return how long after now each waiting e-mail about these alerts goes, rounded to minutes."""
    now, minute = database_now(), timedelta(minutes=1)
    found = Delivery.objects.filter(
        channel="email",
        status="PENDING",
        **{f"alert__{name}": value for name, value in parts.items()},
    )
    times = found.values_list("next_attempt_at", flat=True)
    return sorted(round((at - now) / minute) * minute for at in times if at is not None)


def test_an_urgent_alert_waits_for_no_digest_that_is_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notices, "SINGLE_MESSAGES", 1)
    tenant = make_tenant("acme")
    gathering(tenant)
    make_alert(tenant, 0)
    plan_due_notices()
    assert waits_of(urgent=False) == [timedelta(days=1)]

    for number in (1, 2, 3):
        make_alert(tenant, number)
    Alert.objects.exclude(task_name="task 0").update(urgent=True)
    plan_due_notices()

    # One at once, and the others of the burst in one message soon.
    assert waits_of(urgent=True) == [timedelta(0), timedelta(minutes=5), timedelta(minutes=5)]
    Delivery.objects.filter(alert__urgent=True).update(status="SENT")
    pass_time(minutes=5)
    Alert.objects.filter(task_name="task 1").update(count=9)
    plan_due_notices()
    assert waits_of(urgent=True) == [timedelta(0)]


def test_a_member_who_gathers_no_longer_gets_what_waits() -> None:
    tenant = make_tenant("acme")
    member = gathering(tenant)
    make_alert(tenant, 0)
    plan_due_notices()

    for minutes in (30, 60, 0):
        update_preference(tenant.id, member.pk, {"digest_minutes": minutes}, actor=ACTOR)
        assert waits_of() == [timedelta(minutes=min(minutes, 30))]


def test_what_is_gathered_until_quiet_hours_goes_at_their_end() -> None:
    begins = database_now().replace(second=0, microsecond=0) + timedelta(minutes=30)
    ends = begins + timedelta(hours=2)
    tenant = make_tenant("acme")
    gathering(
        tenant,
        digest_minutes=60,
        quiet_from=begins.time(),
        quiet_to=ends.time(),
        quiet_except_final=False,
    )
    make_alert(tenant, 0)

    plan_due_notices()

    assert Delivery.objects.get(channel="email").next_attempt_at == ends


def test_gathered_messages_are_tried_for_a_day_after_the_first_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant("acme")
    gathering(tenant)
    make_alert(tenant, 0)
    plan_due_notices()
    delivery = Delivery.objects.get(channel="email")
    use_smtp(monkeypatch, free_port())

    pass_time(hours=25)
    assert send_delivery(delivery.pk) == "PENDING"
    pass_time(hours=47)
    assert send_delivery(delivery.pk) == "FAILED"

    delivery.refresh_from_db()
    assert delivery.error.startswith("Given up after 72 hours.")


def test_what_a_window_held_is_one_message_however_late_the_alerter_is() -> None:
    tenant = make_tenant()
    make_member(tenant)
    hour(tenant)
    for number in range(3):
        make_alert(tenant, number)
    plan_due_notices()

    end_now(tenant)
    pass_time(minutes=30)
    plan_due_notices()

    assert set(Delivery.objects.filter(channel="email").values_list("bundled", flat=True)) == {True}
