"""Events judged by rules: which find something, and at what cost."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from events.models import Event
from events.outbox import Recorded
from executions.loop.clocks import database_now
from notifications import alerter
from notifications.alerter import Alerter
from notifications.conditions import Conditions
from notifications.findings import Cause, Finding
from notifications.incidents import count_findings
from notifications.judging import judge as judge_events
from notifications.models import Alert, AlertRule
from notifications.services.rules import delete_rule, list_rules, update_rule
from tests.factories import ACTOR, make_tenant
from tests.notifications.rule_cast import Stage, judge

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_built_in_rule_that_is_switched_off_finds_nothing() -> None:
    stage = Stage(make_tenant())
    [rule] = [one for one in list_rules(stage.tenant.id) if one.kind == "final_failure"]
    update_rule(stage.tenant.id, rule.id, {"enabled": False}, actor=ACTOR)

    stage.failed()
    judge()

    assert not Alert.objects.exists()


def test_an_urgent_rule_makes_urgent_alerts() -> None:
    stage = Stage(make_tenant())
    stage.rule("final_failure", urgent=True)

    stage.failed()
    judge()

    assert Alert.objects.get().urgent


@pytest.mark.parametrize("how", ["deleted", "switched off"])
def test_a_rule_that_has_just_gone_opens_no_alert(how: str) -> None:
    tenant = make_tenant()
    rule = AlertRule.objects.create(
        tenant=tenant, name="x", kind="final_failure", enabled=how == "deleted"
    )
    if how == "deleted":
        AlertRule.objects.all().delete()
    now = database_now()
    causes = [Cause(tenant.id, "final_failure", rule_id=one) for one in (rule.id, None)]

    with transaction.atomic():
        count_findings([Finding(one, "HTTP 503", now) for one in causes], now)

    assert [alert.rule_id for alert in Alert.objects.all()] == [None]


def test_a_rule_is_neither_deleted_nor_changed_while_an_alert_of_it_is_opened() -> None:
    stage = Stage(make_tenant())
    rule = stage.rule("failure_share", threshold=1)
    stage.failed(10)
    events = [
        Recorded(one.id, one.tenant_id, one.name, one.subject_id, one.task_id, None, one.at)
        for one in Event.objects.filter(name="execution.failed", subject_id__isnull=False)
        if one.subject_id
    ]

    with transaction.atomic():
        judge_events(events, database_now())
        with pytest.raises(psycopg.errors.LockNotAvailable), another_session() as beside:
            beside.execute("SELECT FROM alert_rules WHERE id = %s FOR UPDATE NOWAIT", [rule.id])
    delete_rule(stage.tenant.id, rule.id, actor=ACTOR)

    assert not Alert.objects.filter(closed_at=None, kind="failure_share").exists()


def another_session() -> psycopg.Connection[Any]:
    parameters = connection.get_connection_params()
    for given in ("cursor_factory", "context"):
        parameters.pop(given, None)
    return psycopg.connect(**parameters)


@pytest.mark.parametrize(("kind", "full"), [("failure_share", 3), ("dead_letter_rate", 1)])
def test_fewer_events_are_read_at_once_where_successes_are_judged(
    monkeypatch: pytest.MonkeyPatch, kind: str, full: int
) -> None:
    monkeypatch.setattr(alerter, "BATCH_WITH_ENDS", 1)
    stage, watching = Stage(make_tenant()), Alerter()
    stage.rule(kind)
    stage.succeeded(3)

    waits = [watching.run_once() for _ in range(4)]

    assert [wait == 0.0 for wait in waits] == [True] * full + [False] * (4 - full)


def test_a_batch_costs_the_same_statements_whatever_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Conditions, "look", lambda self: None)
    stage = Stage(make_tenant())
    for kind in ("failures_in_a_row", "failure_share", "dead_letter_rate"):
        stage.rule(kind)
    spent = []
    for count in (10, 30):
        stage.failed(count)
        stage.succeeded(count)
        with CaptureQueriesContext(connection) as found:
            Alerter().run_once()
        spent.append(len(found))
        Alert.objects.all().delete()
        Event.objects.all().delete()

    assert spent[0] == spent[1]
