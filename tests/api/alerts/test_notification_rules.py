"""``/v1/notification-rules``."""

from __future__ import annotations

import pytest

from notifications.alert_kinds import KINDS
from notifications.models import AlertRule
from shared.ids import new_id

PATH = "/v1/notification-rules"
BODY = {"name": "Billing fails", "kind": "failures_in_a_row", "threshold": 5}


def built_in(client, kind):
    found = client.get(f"{PATH}?limit=200").json()["notification_rules"]
    return next(rule for rule in found if rule["kind"] == kind)


def test_a_rule_is_made_shown_changed_and_deleted(client):
    made = client.post(PATH, BODY)

    assert made.status_code == 201
    shown = made.json()
    assert made["Location"] == f"{PATH}/{shown['id']}"
    assert made["ETag"] == '"1"'
    assert {key: shown[key] for key in shown if key not in ("id", "created_at", "updated_at")} == {
        **BODY,
        "scope": "all",
        "value": "",
        "window_seconds": None,
        "urgent": False,
        "enabled": True,
        "built_in": False,
        "version": 1,
    }
    assert client.get(made["Location"]).json() == shown
    changed = client.patch(made["Location"], {"urgent": True}, if_match='"1"')
    assert (changed.status_code, changed["ETag"]) == (200, '"2"')
    assert changed.json()["urgent"]
    assert client.patch(made["Location"], {}, if_match='"1"').status_code == 412
    assert client.delete(made["Location"], if_match='"1"').status_code == 412
    assert client.delete(made["Location"], if_match='"2"').status_code == 204
    assert client.get(made["Location"]).status_code == 404


def test_built_in_rules_come_first_and_pages_continue(client):
    client.post(PATH, BODY)
    count = sum(facts.built_in for facts in KINDS.values())

    first = client.get(f"{PATH}?limit={count}").json()
    cursor = first["pagination"]["next_cursor"]
    rest = client.get(f"{PATH}?cursor={cursor}").json()

    assert all(rule["built_in"] for rule in first["notification_rules"])
    assert first["pagination"]["total"] == count + 1
    assert [rule["name"] for rule in rest["notification_rules"]] == ["Billing fails"]


def test_a_built_in_rule_is_switched_off_and_not_deleted(client):
    rule = built_in(client, "first_failure")
    path = f"{PATH}/{rule['id']}"

    assert rule["created_at"] is None
    refused = client.delete(path)
    assert (refused.status_code, refused.json()["code"]) == (409, "built_in_rule")
    assert not client.patch(path, {"enabled": False}).json()["enabled"]
    assert built_in(client, "first_failure") == client.get(path).json()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/name"),
        ({**BODY, "kind": "recovered"}, "#/kind"),
        ({**BODY, "kind": None}, "#/kind"),
        ({**BODY, "name": ""}, "#/name"),
        ({**BODY, "name": "a\u202eb"}, "#/name"),
        ({**BODY, "oops": 1}, "#/oops"),
        ({**BODY, "version": 1}, "#/version"),
        ({**BODY, "threshold": "5"}, "#/threshold"),
        ({**BODY, "threshold": True}, "#/threshold"),
        ({**BODY, "threshold": 1}, "#/threshold"),
        ({**BODY, "threshold": 2**40}, "#/threshold"),
        ({**BODY, "window_seconds": 60}, "#/window_seconds"),
        ({**BODY, "urgent": 1}, "#/urgent"),
        ({**BODY, "enabled": None}, "#/enabled"),
        ({**BODY, "scope": "pool"}, "#/scope"),
        ({**BODY, "scope": "task", "value": "oops"}, "#/value"),
        ({**BODY, "scope": "label"}, "#/value"),
        ({**BODY, "value": "a\u0000"}, "#/value"),
    ],
)
def test_a_bad_body_is_refused_by_its_field(client, body, pointer):
    answer = client.post(PATH, body)

    assert answer.status_code == 400
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert not AlertRule.objects.exists()


def test_a_kind_cannot_be_changed_and_unknown_rules_are_404(client):
    made = client.post(PATH, BODY)

    refused = client.patch(made["Location"], {"kind": "failure_share"})

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "#/kind"
    for call in (client.get, client.delete, lambda path: client.patch(path, {})):
        assert call(f"{PATH}/{new_id()}").status_code == 404
