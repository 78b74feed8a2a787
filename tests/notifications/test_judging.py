"""Events judged by rules: which find something, and at what cost."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from notifications.alerter import Alerter
from notifications.conditions import Conditions
from notifications.models import Alert
from notifications.services.rules import list_rules, update_rule
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
