from __future__ import annotations

import pytest

from executions.resealing.passes import run_some
from tenants.models import DataKey, Resealing, Tenant
from tests.support.api import make_client

pytestmark = pytest.mark.django_db
PATH = "/v1/encryption-keys"


def test_keys_are_listed_without_any_secret(alpha: Tenant, beta: Tenant):
    key = DataKey.objects.get(tenant=alpha)

    answer = make_client(alpha, scopes=["admin"]).get(PATH)

    assert answer.json() == {
        "encryption_keys": [
            {
                "id": str(key.id),
                "generation": 1,
                "status": "SEALS",
                "created_at": answer.json()["encryption_keys"][0]["created_at"],
                "replaced_at": None,
            }
        ],
        "resealing": None,
    }


def test_an_owner_rotates_the_key_and_sees_how_far_it_is(alpha: Tenant):
    client = make_client(alpha, owner=True)

    answer = client.post(f"{PATH}/rotate", {})

    assert answer.status_code == 202
    shown = answer.json()
    assert [one["status"] for one in shown["encryption_keys"]] == ["SEALS", "OPENS"]
    assert (shown["resealing"]["status"], shown["resealing"]["generation"]) == ("RUNNING", 2)
    while run_some(Resealing.objects.get().id):
        pass
    assert client.get(PATH).json()["resealing"]["status"] == "COMPLETED"


def test_a_second_rotation_meanwhile_is_a_conflict(alpha: Tenant):
    client = make_client(alpha, owner=True)
    client.post(f"{PATH}/rotate", {})

    answer = client.post(f"{PATH}/rotate", {})

    assert (answer.status_code, answer.json()["code"]) == (409, "resealing")


def test_a_key_that_is_no_owners_does_not_rotate(alpha: Tenant):
    answer = make_client(alpha, scopes=["admin"]).post(f"{PATH}/rotate", {})

    assert answer.status_code == 403
    assert DataKey.objects.filter(tenant=alpha).count() == 1
