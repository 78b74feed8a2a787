"""``/v1/views``."""

from __future__ import annotations

import pytest

from tenants.models import SavedView
from tests.factories import make_client
from tests.notifications.cast import make_member

PATH = "/v1/views"
BODY = {"list": "executions", "name": "Failed", "query": "?status=FAILED&window=7d&cursor=x&q="}


def test_a_view_is_made_shown_changed_and_removed(client):
    made = client.post(PATH, BODY)

    assert made.status_code == 201, made.content
    shown = made.json()
    assert (made["Location"], made["ETag"]) == (f"{PATH}/{shown['id']}", '"1"')
    assert {key: shown[key] for key in shown if key not in ("id", "created_at", "updated_at")} == {
        "list": "executions",
        "name": "Failed",
        # Without empty values and the place within the list.
        "query": "status=FAILED&window=7d",
        "shared": True,
        "member": None,
        "default": False,
        "unknown_parameters": [],
        "version": 1,
    }
    assert client.get(made["Location"]).json() == shown
    changed = client.patch(
        made["Location"], {"default": True, "query": "density=compact"}, if_match='"1"'
    )
    assert (changed.status_code, changed["ETag"]) == (200, '"2"')
    assert (changed.json()["default"], changed.json()["query"]) == (True, "density=compact")
    assert client.patch(made["Location"], {}, if_match='"1"').status_code == 412
    assert client.delete(made["Location"], if_match='"2"').status_code == 204
    assert client.get(made["Location"]).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**BODY, "list": "workers"}, "#/list"),
        ({**BODY, "name": ""}, "#/name"),
        ({**BODY, "query": "stauts=FAILED"}, "#/query"),
        ({**BODY, "query": "status=OOPS"}, "#/query"),
        ({**BODY, "query": "columns=oops"}, "#/query"),
        ({**BODY, "query": "x" * 2001}, "#/query"),
        ({**BODY, "member": 99999}, "#/member"),
        ({**BODY, "shared": True}, "#/shared"),
    ],
)
def test_what_no_list_understands_is_refused(client, body, pointer):
    refused = client.post(PATH, body)

    assert refused.status_code == 400
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert not SavedView.objects.exists()


def test_a_taken_name_is_a_conflict(client):
    client.post(PATH, BODY)

    refused = client.post(PATH, BODY)

    assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")


def test_a_personal_view_needs_admin_and_its_member(client, alpha):
    ada, bob = make_member(alpha, "ada"), make_member(alpha, "bob")
    made = client.post(PATH, {**BODY, "member": ada.pk}).json()

    assert (made["shared"], made["member"]) == (False, ada.pk)
    path = f"{PATH}/{made['id']}"
    assert client.get(path).status_code == 404
    assert client.get(f"{path}?member={bob.pk}").status_code == 404
    assert client.get(f"{path}?member={ada.pk}").json() == made
    assert client.get(PATH).json()["views"] == []
    assert client.get(f"{PATH}?member={ada.pk}&list=executions").json()["views"] == [made]
    operator = make_client(alpha, ["read", "operate"])
    assert operator.get(f"{path}?member={ada.pk}").status_code == 403
    assert operator.post(PATH, {**BODY, "member": ada.pk}).status_code == 403
    assert operator.delete(f"{path}?member={ada.pk}").status_code == 403
    assert client.delete(f"{path}?member={ada.pk}").status_code == 204


def test_a_view_says_what_its_list_has_no_longer(client, alpha):
    SavedView.objects.create(
        tenant=alpha, list="tasks", name="Old", query="colour=red&type=RECURRING"
    )

    [shown] = client.get(PATH).json()["views"]

    assert shown["unknown_parameters"] == ["colour"]
