from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from shared.actor import COMMAND
from tenants.models import ApiKey
from tenants.services import create_api_key, revoke_api_key
from tests.support.api import ApiClient, make_key


def test_a_key_is_the_caller_it_was_made_for(alpha):
    made, key = make_key(alpha, ["read"])

    body = ApiClient(key).get("/v1/me").json()

    assert (body["tenant"]["id"], body["api_key"]["id"]) == (str(alpha.id), str(made.id))


def test_unknown_revoked_and_expired_keys_get_the_same_answer(alpha):
    revoked, revoked_key = make_key(alpha)
    revoke_api_key(alpha.id, revoked.id, actor=COMMAND)
    soon = timezone.now() + timedelta(hours=1)
    _, expired_key = create_api_key(
        alpha, name="x", scopes=["read"], expires_at=soon, actor=COMMAND
    )

    with time_machine.travel(soon + timedelta(seconds=1)):
        answers = [
            ApiClient(key).get("/v1/me")
            for key in ("unknown", revoked_key, expired_key, "", "x" * 600, "k\xe9y", "two words")
        ]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.json()["detail"] for answer in answers}) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["Basic eDp5", "Token abc", "nonsense"])
def test_other_schemes_count_as_no_key(header):
    response = ApiClient().get("/v1/me", authorization=header)

    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


def test_a_suspended_tenant_is_403(alpha):
    _, key = make_key(alpha)
    alpha.suspended_at = timezone.now()
    alpha.save()

    response = ApiClient(key).get("/v1/me")

    assert (response.status_code, response.json()["code"]) == (403, "tenant_suspended")


def test_a_revocation_takes_effect_with_the_next_call(alpha):
    made, key = make_key(alpha)
    client = ApiClient(key)
    assert client.get("/v1/me").status_code == 200

    revoke_api_key(alpha.id, made.id, actor=COMMAND)

    assert client.get("/v1/me").status_code == 401


def test_the_last_use_is_noted_at_most_once_a_minute(alpha):
    made, key = make_key(alpha)
    start = timezone.now()
    noted = []

    for seconds in (0, 30, 61):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
            ApiClient(key).get("/v1/me")
        noted.append(ApiKey.objects.get(pk=made.pk).last_used_at)

    assert noted == [start, start, start + timedelta(seconds=61)]
