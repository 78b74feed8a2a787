"""Alert rules on the console: members see them, admins change them."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.models import AlertRule
from notifications.services.rules import create_rule, list_rules
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import ACTOR

PATH = "/alert-rules"
FORM = {"name": "Billing fails", "kind": "failures_in_a_row", "scope": "all", "threshold": "5"}


def make(tenant, name="Billing fails", **given):
    fields: Any = {"kind": "failures_in_a_row", "name": name, **given}
    return create_rule(tenant.id, fields, actor=ACTOR)


def test_a_viewer_sees_the_rules_of_the_own_tenant(browser, alpha, beta):
    make(alpha)
    make(beta, "Foreign rule")

    answer = browser(alpha, role="viewer").get(PATH)

    assert answer.status_code == 200
    assert "Billing fails" in answer.text
    assert "Final failure" in answer.text
    assert "Foreign rule" not in answer.text
    assert f"{PATH}/new" not in answer.text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_change_rules(browser, alpha, role):
    rule = make(alpha)
    client = browser(alpha, role=role)

    assert client.get(f"{PATH}/new").status_code == 403
    assert client.post(f"{PATH}/new", FORM).status_code == 403
    assert client.post(f"{PATH}/{rule.pk}", {"name": "x"}).status_code == 403
    assert client.post(f"{PATH}/{rule.pk}/delete").status_code == 403
    assert list(AlertRule.objects.values_list("name", flat=True)) == ["Billing fails"]


def test_an_admin_makes_changes_and_deletes_a_rule(browser, alpha):
    client = browser(alpha, role="admin")

    client.post(f"{PATH}/new", {**FORM, "enabled": "on", "urgent": "on"})
    rule = AlertRule.objects.get()
    assert (rule.name, rule.threshold, rule.enabled, rule.urgent) == (
        *("Billing fails", 5, True, True),
    )
    page = client.get(f"{PATH}/{rule.pk}").text
    assert 'value="5"' in page
    client.post(f"{PATH}/{rule.pk}", {**FORM, "threshold": "7", "version": "1"})
    rule.refresh_from_db()
    assert (rule.threshold, rule.enabled, rule.urgent) == (7, False, False)
    client.post(f"{PATH}/{rule.pk}/delete")
    assert not AlertRule.objects.exists()


def test_a_built_in_rule_is_switched_off(browser, alpha):
    [rule] = [one for one in list_rules(alpha.id) if one.kind == "no_worker"]
    client = browser(alpha, role="admin")

    assert 'name="name"' not in client.get(f"{PATH}/{rule.pk}").text
    answer = client.post(f"{PATH}/{rule.pk}", {"window_seconds": "120", "version": "1"})

    assert answer.status_code == 302
    changed = AlertRule.objects.get(pk=rule.pk)
    assert (changed.window_seconds, changed.enabled, changed.name) == (120, False, "No worker")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"name": ""}, "Must not be empty."),
        ({"kind": "oops"}, "Give one of"),
        ({"threshold": "many"}, "must be a whole number"),
        ({"threshold": "1"}, "Give 2 to 1000"),
        ({"threshold": "9" * 40}, "Give 2 to 1000"),
        ({"scope": "task", "value": "oops"}, "Give an id"),
        ({"scope": "label", "value": "oops"}, "key:value"),
    ],
)
def test_a_form_with_errors_comes_back_as_it_was_sent(browser, alpha, sent, message):
    form = {**FORM, "name": HOSTILE, "value": HOSTILE, **sent}
    answer = browser(alpha, role="admin").post(f"{PATH}/new", form)

    assert answer.status_code == 400
    assert message in answer.text
    assert is_escaped(answer)
    assert not AlertRule.objects.exists()


def test_an_old_form_changes_nothing(browser, alpha):
    rule = make(alpha)
    client = browser(alpha, role="admin")
    client.post(f"{PATH}/{rule.pk}", {**FORM, "version": "1", "enabled": "on"})

    answer = client.post(f"{PATH}/{rule.pk}", {**FORM, "threshold": "9", "version": "1"})

    assert answer.status_code == 400
    assert AlertRule.objects.get().threshold == 5
