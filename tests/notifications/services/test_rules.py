"""Alert rules made, changed and deleted."""

from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from executions.loop.clocks import database_now
from notifications.alert_kinds import KINDS
from notifications.models import Alert, AlertRule, RuleMinute
from notifications.services import rules
from notifications.services.rules import (
    create_rule,
    delete_rule,
    get_rule,
    list_rules,
    update_rule,
)
from shared.exceptions import (
    Conflict,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant
from tests.support.alerts import make_alert
from tests.support.workflows import make_workflow

pytestmark = pytest.mark.django_db

STREAK: Any = {"kind": "failures_in_a_row", "name": "Billing fails"}


def make(tenant: Tenant, **given: Any) -> AlertRule:
    fields: Any = {**STREAK, **given}
    return create_rule(tenant.id, fields, actor=ACTOR)


def built_in(tenant: Tenant, kind: str) -> AlertRule:
    [found] = [rule for rule in list_rules(tenant.id) if rule.built_in and rule.kind == kind]
    return found


def actions() -> list[str]:
    found = AuditEntry.objects.filter(object_kind="alert_rule").order_by("sequence")
    return list(found.values_list("action", flat=True))


def refused(call: Any) -> set[tuple[str, str]]:
    with pytest.raises(InvalidInput) as error:
        call()
    return {(one.pointer, one.code) for one in error.value.errors}


def test_a_tenant_has_the_built_in_rules_without_rows() -> None:
    tenant = make_tenant()

    kinds = [rule.kind for rule in list_rules(tenant.id)]

    assert kinds == [kind for kind, facts in KINDS.items() if facts.built_in]
    assert not AlertRule.objects.exists()
    for rule in list_rules(tenant.id):
        assert get_rule(tenant.id, rule.id).kind == rule.kind


def test_a_rule_has_the_numbers_of_its_kind_and_an_audit_entry() -> None:
    rule = make(make_tenant())

    assert (rule.threshold, rule.window_seconds, rule.scope, rule.enabled, rule.version) == (
        *(3, 0, "all", True, 1),
    )
    assert actions() == ["alert_rule.created"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kind": "oops"}, ("#/kind", "invalid_choice")),
        ({"kind": "recovered"}, ("#/kind", "invalid_choice")),
        ({"name": " "}, ("#/name", "blank")),
        ({"name": "x" * 201}, ("#/name", "too_long")),
        ({"name": "a\u202eb"}, ("#/name", "invalid_characters")),
        ({"scope": "oops"}, ("#/scope", "invalid_choice")),
        ({"value": "team:billing"}, ("#/value", "exclusive")),
        ({"scope": "label", "value": ""}, ("#/value", "blank")),
        ({"scope": "label", "value": "team"}, ("#/value", "invalid")),
        ({"scope": "label", "value": ":billing"}, ("#/value", "invalid")),
        ({"scope": "label", "value": "a:" + "x" * 600}, ("#/value", "too_long")),
        ({"scope": "task", "value": "oops"}, ("#/value", "invalid")),
        ({"scope": "task", "value": str(new_id())}, ("#/value", "not_found")),
        ({"scope": "workflow", "value": str(new_id())}, ("#/value", "not_found")),
        ({"kind": "quota_near", "scope": "label", "value": "a:b"}, ("#/scope", "not_of_kind")),
        ({"threshold": 1}, ("#/threshold", "out_of_range")),
        ({"threshold": 1001}, ("#/threshold", "out_of_range")),
        ({"threshold": -1}, ("#/threshold", "out_of_range")),
        ({"window_seconds": 60}, ("#/window_seconds", "not_of_kind")),
        ({"kind": "failure_share", "threshold": 101}, ("#/threshold", "out_of_range")),
        ({"kind": "failure_share", "window_seconds": 59}, ("#/window_seconds", "out_of_range")),
        ({"kind": "final_failure", "threshold": 5}, ("#/threshold", "not_of_kind")),
    ],
)
def test_a_bad_rule_is_refused_by_its_field(given: dict[str, Any], error: tuple[str, str]) -> None:
    tenant = make_tenant()

    assert refused(lambda: make(tenant, **given)) == {error}
    assert not AlertRule.objects.exists()


def test_a_task_and_a_workflow_are_told_apart_and_foreign_ones_are_unknown() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    task, foreign = make_task(tenant), make_task(other)
    workflow = make_workflow(tenant, [{"key": "ok", "kind": "approval"}])

    assert make(tenant, scope="task", value=str(task.pk)).value == str(task.pk)
    assert make(tenant, scope="workflow", value=str(workflow.pk)).value == str(workflow.pk)
    for scope, value in (
        ("task", workflow.pk),
        ("workflow", task.pk),
        ("task", foreign.pk),
    ):
        wrong = {"scope": scope, "value": str(value)}
        assert refused(lambda wrong=wrong: make(tenant, **wrong)) == {("#/value", "not_found")}


def test_a_rule_whose_task_is_gone_can_be_switched_off_and_not_moved_to_another() -> None:
    tenant = make_tenant()
    task = make_task(tenant)
    rule = make(tenant, scope="task", value=str(task.pk))
    type(task).objects.update(deleted_at=database_now())

    whole: Any = {"scope": "task", "value": str(task.pk), "enabled": False}
    assert not update_rule(tenant.id, rule.id, whole, actor=ACTOR).enabled
    other: Any = {"value": str(new_id())}
    assert refused(lambda: update_rule(tenant.id, rule.id, other, actor=ACTOR)) == {
        ("#/value", "not_found")
    }


def test_the_rules_of_a_tenant_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST", 1)
    tenant = make_tenant()
    update_rule(tenant.id, built_in(tenant, "first_failure").id, {"enabled": False}, actor=ACTOR)
    make(tenant)

    with pytest.raises(QuotaExceeded):
        make(tenant)


def test_a_change_raises_the_version_once_and_keeps_what_is_left_out() -> None:
    tenant = make_tenant()
    rule = make(tenant, threshold=5)

    changed = update_rule(tenant.id, rule.id, {"urgent": True}, actor=ACTOR, expected_version=1)
    same = update_rule(tenant.id, rule.id, {"urgent": True}, actor=ACTOR)

    assert (changed.threshold, changed.urgent, changed.version) == (5, True, 2)
    assert same.version == 2
    assert actions() == ["alert_rule.created", "alert_rule.updated"]
    with pytest.raises(VersionMismatch):
        update_rule(tenant.id, rule.id, {"urgent": False}, actor=ACTOR, expected_version=1)


def test_the_kind_stays() -> None:
    tenant = make_tenant()
    rule = make(tenant)

    change: Any = {"kind": "failure_share"}
    assert refused(lambda: update_rule(tenant.id, rule.id, change, actor=ACTOR)) == {
        ("#/kind", "immutable")
    }


def test_a_built_in_rule_keeps_its_id_and_all_but_its_numbers() -> None:
    tenant = make_tenant()
    rule = built_in(tenant, "no_worker")

    changed = update_rule(tenant.id, rule.id, {"window_seconds": 120}, actor=ACTOR)

    assert (changed.id, changed.window_seconds, changed.version) == (rule.id, 120, 2)
    assert built_in(tenant, "no_worker").window_seconds == 120
    wrong: Any = {"name": "Mine", "scope": "label", "value": "a:b"}
    assert refused(lambda: update_rule(tenant.id, rule.id, wrong, actor=ACTOR)) == {
        ("#/name", "immutable"),
        ("#/scope", "immutable"),
        ("#/value", "immutable"),
    }
    with pytest.raises(Conflict) as error:
        delete_rule(tenant.id, rule.id, actor=ACTOR)
    assert error.value.code == "built_in_rule"


def test_a_rule_of_another_tenant_is_unknown() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")

    for rule in (make(other), built_in(other, "final_failure")):
        for call in (
            lambda rule=rule: get_rule(tenant.id, rule.id),
            lambda rule=rule: update_rule(tenant.id, rule.id, {"urgent": True}, actor=ACTOR),
            lambda rule=rule: delete_rule(tenant.id, rule.id, actor=ACTOR),
        ):
            with pytest.raises(NotFound):
                call()


@pytest.mark.parametrize(
    "change", [{"scope": "label", "value": "a:b"}, {"enabled": False}], ids=["tasks", "time"]
)
def test_what_a_rule_counted_of_other_tasks_or_before_a_gap_is_forgotten(change: Any) -> None:
    tenant = make_tenant()
    rule = make(tenant, kind="failure_share")
    RuleMinute.objects.create(rule=rule, minute=rule.created_at, ended=5, failed=5)

    update_rule(tenant.id, rule.id, {"threshold": 60}, actor=ACTOR)
    assert RuleMinute.objects.exists()
    update_rule(tenant.id, rule.id, change, actor=ACTOR)

    assert not RuleMinute.objects.exists()


@pytest.mark.parametrize("how", ["switched off", "deleted"])
def test_the_open_alerts_of_a_rule_that_judges_no_longer_are_closed(how: str) -> None:
    tenant = make_tenant()
    rule = make(tenant)
    own = make_alert(tenant, kind="failures_in_a_row")
    Alert.objects.filter(pk=own.pk).update(rule=rule)
    other = make_alert(tenant)

    if how == "deleted":
        delete_rule(tenant.id, rule.id, actor=ACTOR, expected_version=1)
    else:
        update_rule(tenant.id, rule.id, {"enabled": False}, actor=ACTOR)

    assert list(Alert.objects.filter(closed_at=None)) == [other]
    assert Alert.objects.get(pk=own.pk).next_notice_at is None


def test_a_built_in_rule_that_is_switched_off_closes_its_alerts_only() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    make_alert(tenant)
    foreign, first = make_alert(other), make_alert(tenant, kind="first_failure")

    rule = built_in(tenant, "final_failure")
    update_rule(tenant.id, rule.id, {"enabled": False}, actor=ACTOR)

    assert set(Alert.objects.filter(closed_at=None)) == {foreign, first}
