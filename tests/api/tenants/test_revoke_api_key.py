from __future__ import annotations

from events.models import AuditEntry
from tests.support.api import ApiClient, make_key


def test_a_revoked_key_answers_401_and_stays_listed(alpha, client):
    made, key = make_key(alpha)

    response = client.delete(f"/v1/api-keys/{made.id}")

    assert (response.status_code, response.content) == (204, b"")
    assert ApiClient(key).get("/v1/me").status_code == 401
    assert client.get(f"/v1/api-keys/{made.id}").json()["revoked_at"] is not None


def test_revoking_again_changes_nothing(alpha, client):
    made, _ = make_key(alpha)
    client.delete(f"/v1/api-keys/{made.id}")

    assert client.delete(f"/v1/api-keys/{made.id}").status_code == 204
    assert AuditEntry.objects.filter(action="api_key.revoked").count() == 1


def test_the_same_idempotency_key_gets_the_first_answer(alpha, client):
    made, _ = make_key(alpha)

    answers = [client.delete(f"/v1/api-keys/{made.id}", idempotency_key="once") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 204]
    assert answers[1].headers["Idempotent-Replayed"] == "true"


def test_who_revoked_it_is_in_the_audit_log(alpha, client):
    made, _ = make_key(alpha)
    client.delete(f"/v1/api-keys/{made.id}")

    assert AuditEntry.objects.get(action="api_key.revoked").object_id == str(made.id)


def test_an_owners_key_is_revoked_by_an_owners_key_only(alpha, client, owner):
    made, key = make_key(alpha, ["read"], owner=True)

    refused = client.delete(f"/v1/api-keys/{made.id}")

    assert refused.status_code == 403
    assert "owner" in refused.json()["detail"]
    assert ApiClient(key).get("/v1/me").status_code == 200
    assert owner.delete(f"/v1/api-keys/{made.id}").status_code == 204


def test_the_refusal_says_nothing_of_another_tenants_keys(beta, client):
    made, _ = make_key(beta, owner=True)

    assert client.delete(f"/v1/api-keys/{made.id}").status_code == 404
