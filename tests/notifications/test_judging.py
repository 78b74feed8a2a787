"""Rules that cover some tasks, are switched off, or die in between."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from notifications import judging
from notifications.alerter import Alerter
from notifications.conditions import Conditions
from notifications.models import Alert, AlertRule, RuleMinute
from notifications.services.rules import list_rules, update_rule
from tests.factories import ACTOR, make_tenant
from tests.notifications.rule_cast import Stage, counts, judge

pytestmark = pytest.mark.django_db(transaction=True)


def rules_of_alerts() -> list[Any]:
    return list(Alert.objects.order_by("created_at").values_list("rule__name", flat=True))


def test_the_narrowest_rule_of_a_kind_judges_a_task() -> None:
    stage = Stage(make_tenant(), labels={"team": "billing"})
    for name, scope, value in (
        ("everything", "all", ""),
        ("label", "label", "team:billing"),
        ("task", "task", str(stage.task.pk)),
    ):
        stage.rule("final_failure", name=name, scope=scope, value=value)

    for name in ("task", "label", "everything", None):
        stage.failed()
        judge()
        assert rules_of_alerts() == [name]
        Alert.objects.all().delete()
        AlertRule.objects.filter(name=name).delete()


def test_a_rule_of_other_tasks_leaves_it_to_the_built_in_one() -> None:
    stage = Stage(make_tenant())
    stage.rule("final_failure", scope="label", value="team:billing")

    stage.failed()
    judge()

    assert rules_of_alerts() == [None]


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


def test_a_rule_of_another_tenant_finds_nothing() -> None:
    stage, other = Stage(make_tenant("Alpha")), make_tenant("Beta")
    stage.rule("failure_share", threshold=1)
    [rule] = AlertRule.objects.all()
    AlertRule.objects.filter(pk=rule.pk).update(tenant=other)

    stage.failed(20)
    judge()

    assert set(counts()) == {"final_failure"}
    assert not RuleMinute.objects.exists()


def test_an_alerter_that_dies_counts_a_window_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(make_tenant())
    stage.rule("dead_letter_rate", threshold=2)
    stage.failed(2)
    real = judging.count_findings

    def die(*args: Any) -> None:
        real(*args)
        raise SystemExit("killed")

    monkeypatch.setattr(judging, "count_findings", die)
    with pytest.raises(SystemExit):
        Alerter().run_once()
    assert not RuleMinute.objects.exists()

    monkeypatch.setattr(judging, "count_findings", real)
    judge()
    judge()

    assert counts()["dead_letter_rate"] == 2
    assert [(row.ended, row.failed) for row in RuleMinute.objects.all()] == [(2, 2)]


def test_a_batch_costs_the_same_statements_whatever_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Conditions, "look", lambda self: None)
    stage = Stage(make_tenant())
    for kind in ("failures_in_a_row", "failure_share", "dead_letter_rate"):
        stage.rule(kind)
    spent = []
    for count in (1, 30):
        stage.failed(count)
        stage.succeeded(count)
        with CaptureQueriesContext(connection) as found:
            Alerter().run_once()
        spent.append(len(found))
        Alert.objects.all().delete()
        Event.objects.all().delete()

    assert spent[0] == spent[1]


def test_a_share_of_few_executions_says_nothing() -> None:
    stage = Stage(make_tenant())
    stage.rule("failure_share", threshold=1)

    stage.failed(9)
    judge()

    assert "failure_share" not in counts()
