from __future__ import annotations

import json
from typing import Any

import pytest

from notifications.models import AlertRule
from shared.ids import new_id
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def read(verb: str, *words: str) -> dict[str, Any]:
    said = call("rules", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"rules-{verb}", said.out)


def make(*words: str) -> dict[str, Any]:
    return read("create", "failures_in_a_row", "Billing fails", *words)


def test_a_rule_is_made_shown_changed_and_deleted(alpha):
    made = make("--threshold", "5", "--scope", "label", "--value", "team:billing")

    assert read("show", made["id"]) == made
    assert (made["threshold"], made["scope"], made["value"]) == (5, "label", "team:billing")
    changed = read("edit", made["id"], "--not-enabled", "--urgent", "--version-seen", "1")
    assert (changed["enabled"], changed["urgent"], changed["threshold"]) == (False, True, 5)
    assert call("rules", "edit", made["id"], "--urgent", "--version-seen", "1").code == 4
    assert call("rules", "delete", made["id"], "--yes").code == 0
    assert not AlertRule.objects.exists()


def test_list_has_the_built_in_rules_and_the_own_ones(alpha):
    make()

    found = read("list")["notification_rules"]

    assert [rule["name"] for rule in found if not rule["built_in"]] == ["Billing fails"]
    assert "final_failure" in call("rules", "list").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "recovered", "x"), 1),
        (("create", "failures_in_a_row", "x", "--threshold", "1"), 2),
        (("create", "failures_in_a_row", "x", "--scope", "task", "--value", "oops"), 2),
        (("create", "failures_in_a_row", "x", "--urgent", "--not-urgent"), 1),
        (("show", "oops"), 1),
        (("show", str(new_id())), 3),
        (("delete", str(new_id()), "--yes"), 3),
    ],
)
def test_bad_words_are_refused(alpha, words, code):
    assert call("rules", *words).code == code
    assert not AlertRule.objects.exists()


def test_which_tenant_is_meant_must_be_clear(alpha, beta):
    assert call("rules", "list").code == 2
    assert json.loads(call("rules", "list", "--tenant", beta.name, "--json").out)
