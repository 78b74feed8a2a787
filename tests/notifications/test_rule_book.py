"""Which rule judges a task."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.models import Alert, AlertRule, RuleMinute
from tests.factories import make_tenant
from tests.notifications.rule_cast import Stage, counts, judge

pytestmark = pytest.mark.django_db(transaction=True)


def rules_of_alerts() -> list[Any]:
    return list(Alert.objects.order_by("created_at").values_list("rule__name", flat=True))


def test_the_narrowest_rule_of_a_kind_judges_a_task() -> None:
    stage = Stage(make_tenant(), labels={"team": "billing"})
    for called, scope, value in (
        ("everything", "all", ""),
        ("label", "label", "team:billing"),
        ("task", "task", str(stage.task.pk)),
    ):
        stage.rule("final_failure", name=called, scope=scope, value=value)

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


def test_a_rule_of_another_tenant_finds_nothing() -> None:
    stage, other = Stage(make_tenant("Alpha")), make_tenant("Beta")
    stage.rule("failure_share", threshold=1)
    [rule] = AlertRule.objects.all()
    AlertRule.objects.filter(pk=rule.pk).update(tenant=other)

    stage.failed(20)
    judge()

    assert set(counts()) == {"final_failure"}
    assert not RuleMinute.objects.exists()
