"""``/v1/secrets``: written by admins, named to readers, and never read back."""

from __future__ import annotations

import pytest

from tests.factories import daily, make_client, make_task
from tests.support.named_secrets import HOST, VALUE, body, make_secret, using

PATH = "/v1/secrets"
pytestmark = pytest.mark.django_db


def test_a_secret_is_written_and_shown_without_its_value(client):
    answer = client.post(PATH, body(commands=["deploy"]))

    assert (answer.status_code, answer["Location"], answer["ETag"]) == (
        201,
        f"{PATH}/token",
        '"1"',
    )
    shown = answer.json()
    assert {key: shown[key] for key in ("name", "hosts", "commands", "version", "tasks")} == {
        "name": "token",
        "hosts": [HOST],
        "commands": ["deploy"],
        "version": 1,
        "tasks": 0,
    }
    assert client.get(f"{PATH}/token").json() == shown
    assert VALUE not in answer.text


def test_a_repeated_call_is_one_secret_and_its_answer_has_no_value(client):
    first = client.post(PATH, body(), idempotency_key="k")
    again = client.post(PATH, body(), idempotency_key="k")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again["Idempotent-Replayed"] == "true"
    assert VALUE not in again.text


def test_no_plain_hash_of_a_value_is_stored(client):
    client.post(PATH, body(), idempotency_key="k")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.secrets.views.SecretsView.takes_secrets", False)
        # By the plain hash, which other calls have, it is another call.
        assert client.post(PATH, body(), idempotency_key="k").status_code == 422
    assert client.post(PATH, body(), idempotency_key="k").status_code == 201


def test_the_list_has_the_tenants_own_secrets_by_name(client, alpha, beta):
    for name in ("second", "first"):
        make_secret(alpha, name)
    make_secret(beta, "foreign")
    make_task(alpha, daily(target=using("first")))

    found = client.get(PATH).json()

    assert [(one["name"], one["tasks"]) for one in found["secrets"]] == [
        ("first", 1),
        ("second", 0),
    ]
    assert VALUE not in str(found)


def test_the_single_view_names_the_tasks_that_use_it(client, alpha):
    make_secret(alpha)
    task = make_task(alpha, daily(name="Invoices", target=using()))

    shown = client.get(f"{PATH}/token").json()

    assert shown["used_by"] == [{"id": str(task.id), "name": "Invoices", "kind": "task"}]


def test_a_change_replaces_the_value_and_compares_versions(client, alpha):
    make_secret(alpha)

    assert client.patch(f"{PATH}/token", {"value": "new"}, if_match='"9"').status_code == 412
    changed = client.patch(f"{PATH}/token", {"value": "new-value"}, if_match='"1"')

    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    assert "new-value" not in changed.text


def test_further_hosts_need_the_value(client, alpha):
    make_secret(alpha)

    answer = client.patch(f"{PATH}/token", {"hosts": [HOST, "evil.example"]})

    assert answer.status_code == 400
    assert [one["code"] for one in answer.json()["errors"]] == ["secret_required"]


def test_a_secret_in_use_is_not_removed(client, alpha):
    make_secret(alpha)
    task = make_task(alpha, daily(target=using()))

    answer = client.delete(f"{PATH}/token")

    assert (answer.status_code, answer.json()["code"]) == (409, "secret_in_use")
    assert str(task.id) in answer.json()["detail"]
    type(task).objects.filter(pk=task.pk).update(status="COMPLETED")
    assert client.delete(f"{PATH}/token").status_code == 204
    assert client.get(f"{PATH}/token").status_code == 404


@pytest.mark.parametrize("name", ["token", "Token", "no%20such", "%2E%2E", "a" * 300])
def test_a_foreign_or_unknown_secret_is_404(client, beta, name):
    make_secret(beta)

    for call in (client.get, client.delete):
        assert call(f"{PATH}/{name}").status_code == 404
    assert client.patch(f"{PATH}/{name}", {"value": "x"}).status_code == 404


def test_a_key_that_writes_tasks_uses_a_secret_and_cannot_write_one(alpha):
    make_secret(alpha)
    writer = make_client(alpha, ["read", "write"])

    assert writer.post("/v1/tasks", daily(target=using()), idempotency_key="1").status_code == 201
    for call in (
        writer.post(PATH, body("other")),
        writer.patch(f"{PATH}/token", {"value": "x"}),
        writer.delete(f"{PATH}/token"),
    ):
        assert call.status_code == 403
    moved = daily(target=using(url="https://evil.example/"))
    answer = writer.post("/v1/tasks", moved, idempotency_key="2")
    assert [one["code"] for one in answer.json()["errors"]] == ["secret_not_allowed"]


def test_a_task_shows_the_reference_and_takes_it_back(client, alpha):
    make_secret(alpha)
    made = client.post("/v1/tasks", daily(target=using()), idempotency_key="1").json()

    assert made["target"]["auth"]["token"] == "{{ secrets.token }}"
    again = client.put(
        f"/v1/tasks/{made['id']}",
        daily(target=made["target"]),
    )
    assert again.status_code == 200, again.json()
    assert again.json()["target"] == made["target"]


@pytest.mark.parametrize("sent", [b"[]", b"5", b"null", b'{"name": "a", "value": "b"'])
def test_a_body_that_is_no_object_is_400(client, sent):
    assert client.post(PATH, sent).status_code == 400
