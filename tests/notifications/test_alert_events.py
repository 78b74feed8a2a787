"""Each change of an alert's state is an event, in the transaction of the change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from events.models import Event
from events.outbox import Appended, append_each
from executions.ledger import days
from executions.loop.clocks import database_now
from notifications.alert_events import OPENED, append_alert_events
from notifications.findings import Cause, Finding
from notifications.incidents import count_findings, recover
from notifications.models import Alert
from notifications.notices import plan_due_notices
from notifications.services.alerts import acknowledge_alert, assign_alert, mute_alert
from notifications.services.rules import create_rule, delete_rule
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member, pass_time
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant() -> Tenant:
    days.ensure_days_ahead(database_now())
    return make_tenant("acme")


def events() -> list[tuple[str, UUID | None, Any]]:
    found = Event.objects.filter(name__startswith="alert.").order_by("id")
    return list(found.values_list("name", "subject_id", "data"))


def find(tenant: Tenant, **parts: Any) -> None:
    finding = Finding(Cause(tenant.id, "circuit_open", **parts), "calls wait", database_now())
    with transaction.atomic():
        count_findings([finding], database_now())


def test_the_life_of_an_alert_is_its_events(tenant: Tenant) -> None:
    find(tenant, destination="x")
    find(tenant, destination="x")  # growing is no change of state
    alert = Alert.objects.get()
    recover([alert.id], database_now())
    recover([alert.id], database_now())
    find(tenant, destination="x")
    recover([alert.id], database_now())
    pass_time(minutes=16)
    plan_due_notices()

    assert Alert.objects.get().closed_at is not None
    assert events() == [
        (name, alert.id, {"kind": "circuit_open", "count": count})
        for name, count in (
            ("alert.opened", 1),
            ("alert.recovered", 2),
            ("alert.returned", 3),
            ("alert.recovered", 3),
            ("alert.closed", 3),
        )
    ]


def test_an_alert_that_ends_by_itself_recovers_and_closes(tenant: Tenant) -> None:
    make_member(tenant)
    alert = make_alert(tenant, kind="budget_exceeded")
    Alert.objects.update(ends_at=database_now())

    plan_due_notices()

    told = {"kind": "budget_exceeded", "count": 2}
    assert events() == [
        ("alert.recovered", alert.pk, told),
        ("alert.closed", alert.pk, told),
    ]


def test_what_people_do_with_an_alert_is_an_event_and_repeating_it_is_none(tenant: Tenant) -> None:
    member = make_member(tenant)
    alert = make_alert(tenant)

    for _ in range(2):
        acknowledge_alert(tenant.id, alert.id, actor=ACTOR)
        assign_alert(tenant.id, alert.id, member_id=member.pk, actor=ACTOR)
    mute_alert(tenant.id, alert.id, minutes=5, actor=ACTOR)

    expected = ("alert.changed", alert.id, {"kind": "final_failure", "count": 2})
    assert events() == [expected] * 3


def test_a_deleted_rule_closes_its_alerts_with_an_event(tenant: Tenant) -> None:
    rule = create_rule(
        tenant.id, {"name": "many", "kind": "failures_in_a_row", "threshold": 3}, actor=ACTOR
    )
    find(tenant, rule_id=rule.id)
    Alert.objects.update(kind="failures_in_a_row")

    delete_rule(tenant.id, rule.id, actor=ACTOR)

    assert [name for name, _, _ in events()] == ["alert.opened", "alert.closed"]


def test_a_change_that_is_rolled_back_has_no_event(tenant: Tenant) -> None:
    alert = make_alert(tenant)

    with transaction.atomic():
        recover([alert.id], database_now())
        assert [name for name, _, _ in events()] == ["alert.recovered"]
        transaction.set_rollback(True)

    assert events() == []


def test_an_alert_about_several_tasks_names_none(tenant: Tenant) -> None:
    one, many = make_alert(tenant, 1), make_alert(tenant, 2)
    many.task_count = 2

    append_alert_events(OPENED, [one, many])

    found = Event.objects.filter(name=OPENED).order_by("id")
    assert list(found.values_list("task_id", flat=True)) == [one.task_id, None]


def test_events_of_several_tenants_are_one_statement(
    tenant: Tenant, django_assert_num_queries: Any
) -> None:
    other = make_tenant("other")
    append_each([])
    wanted = [
        Appended(tenant.id, "alert.opened", new_id(), None, {"kind": 'a "b"'}),
        Appended(other.id, "alert.closed", new_id(), new_id(), None),
    ]

    with django_assert_num_queries(1):
        append_each(wanted)

    found = Event.objects.filter(name__startswith="alert.").order_by("id")
    fields = ("tenant_id", "name", "subject_id", "task_id", "data")
    assert [Appended(*row) for row in found.values_list(*fields)] == wanted
