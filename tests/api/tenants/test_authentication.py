from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from api.tenants import authentication, issuer_keys
from events.models import AuditEntry
from shared.actor import COMMAND
from shared.conf import conf
from shared.log_pace import Pace
from tenants.authority import OPERATOR
from tenants.models import ApiKey, Tenant
from tenants.services import change_quotas, create_api_key, revoke_api_key
from tests.support.api import ApiClient, make_key, make_tenant
from tests.support.http_receiver import http_receiver
from tests.support.tokens import (
    ISSUER,
    claims_of,
    issuer_of,
    key_set,
    private_key,
    public_jwk,
    token_of,
)


def test_a_key_is_the_caller_it_was_made_for(alpha):
    made, key = make_key(alpha, ["read"])

    body = ApiClient(key).get("/v1/me").json()

    assert (body["tenant"]["id"], body["api_key"]["id"]) == (str(alpha.id), str(made.id))


def test_unknown_revoked_and_expired_keys_get_the_same_answer(alpha):
    revoked, revoked_key = make_key(alpha)
    revoke_api_key(alpha.id, revoked.id, actor=COMMAND, by=OPERATOR)
    soon = timezone.now() + timedelta(hours=1)
    _, expired_key = create_api_key(
        alpha, name="x", scopes=["read"], expires_at=soon, actor=COMMAND, by=OPERATOR
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

    revoke_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR)

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


def _listed(tenant, *addresses):
    return create_api_key(
        tenant, name="x", scopes=["read"], addresses=addresses, actor=COMMAND, by=OPERATOR
    )


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("203.0.113.9", 200),
        ("203.0.114.1", 403),
        ("2001:db8::5", 200),
        ("2001:db9::5", 403),
        ("::ffff:203.0.113.9", 200),
        ("", 403),
        ("unknown", 403),
    ],
)
def test_a_key_with_an_address_list_is_used_from_there_only(alpha, address, status):
    key, text = _listed(alpha, "203.0.113.0/24", "2001:db8::/32")

    answer = ApiClient(text)._client.get(
        "/v1/tasks", headers={"Authorization": f"Bearer {text}"}, REMOTE_ADDR=address
    )

    assert answer.status_code == status, answer.content
    if status == 403:
        assert answer.json()["code"] == "address_not_allowed"
        assert ApiKey.objects.get(pk=key.pk).last_used_at is None


def test_a_header_of_the_caller_is_not_its_address(alpha):
    # Proxies of TRUSTED_PROXIES are believed by the server, before a view sees the address.
    _, text = _listed(alpha, "203.0.113.0/24")

    answer = ApiClient(text).get(
        "/v1/tasks", x_forwarded_for="203.0.113.9", x_real_ip="203.0.113.9"
    )

    assert answer.json()["code"] == "address_not_allowed"


def test_the_address_of_the_last_use_is_noted(alpha):
    key, text = make_key(alpha)

    ApiClient(text).get("/v1/me")

    assert ApiKey.objects.get(pk=key.pk).last_used_address == "127.0.0.1"


@pytest.fixture
def trusting(settings: Any) -> Callable[..., None]:
    """Return what lets an issuer sign for tenants."""

    def trust(*tenants: Tenant, **parts: Any) -> None:
        settings.PUNCTUAL = replace(conf(), jwt_issuers=(issuer_of(*tenants, **parts),))

    return trust


def _by(token: str) -> ApiClient:
    return ApiClient(token)


def test_a_token_is_a_caller_without_a_key(alpha, trusting):
    trusting(alpha)

    body = _by(token_of(claims_of(scope="read write"))).get("/v1/me").json()

    assert (body["tenant"]["id"], body["api_key"]) == (str(alpha.id), None)
    assert (body["token"]["issuer"], body["token"]["subject"]) == (ISSUER, "service-1")
    assert body["scopes"] == ["read", "write"]


def test_the_audit_log_names_issuer_and_subject(alpha, trusting):
    trusting(alpha)
    client = _by(token_of(claims_of(scope="admin")))

    assert client.patch("/v1/me", {"idempotency_required": True}).status_code == 200

    assert AuditEntry.objects.get(action="tenant.changed").actor == f"jwt:{ISSUER}#service-1"


def test_without_issuers_a_token_is_no_key(alpha):
    assert _by(token_of()).get("/v1/me").status_code == 401


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the log had before."""
    monkeypatch.setattr(authentication, "_pace", Pace())


def test_a_crowd_of_bad_tokens_fills_no_log(alpha, trusting, noted, caplog):
    trusting(alpha)
    caplog.set_level(logging.INFO, "api.tenants.authentication")

    for number in range(5):
        _by(token_of(claims_of(aud="other", jti=str(number)))).get("/v1/me")

    assert [record.getMessage() for record in caplog.records].count("token.refused") == 1


def test_every_refused_token_gets_one_answer_and_the_log_has_the_reason(
    alpha, trusting, noted, caplog
):
    trusting(alpha, max_lifetime_seconds=60)
    caplog.set_level(logging.INFO, "api.tenants.authentication")
    tokens = [
        token_of(claims_of(iss="https://other.example.com")),
        token_of(claims_of(aud="other")),
        token_of(claims_of(tenant="Beta")),
        token_of(claims_of(), "x" * 64),
        token_of(claims_of()),
    ]

    answers = [_by(token).get("/v1/me") for token in tokens]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    assert {answer.json()["detail"] for answer in answers} == {"The token is not valid."}
    reasons = {getattr(record, "reason", None) for record in caplog.records}
    assert {"unknown_issuer", "lifetime"} <= reasons
    for token in tokens:
        assert token.split(".")[2] not in caplog.text


def test_a_tenant_that_is_not_there_is_401_and_a_suspended_one_403(alpha, trusting):
    gone = make_tenant("Gone")
    trusting(alpha, gone)
    Tenant.objects.filter(pk=gone.pk).delete()
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=timezone.now())

    assert _by(token_of(claims_of("Gone"))).get("/v1/me").status_code == 401
    suspended = _by(token_of(claims_of("Alpha"))).get("/v1/me")
    assert (suspended.status_code, suspended.json()["code"]) == (403, "tenant_suspended")


def test_a_token_makes_keys_that_end_with_it_and_never_an_owners(alpha, trusting):
    trusting(alpha)
    claims = claims_of(scope="admin read")
    client = _by(token_of(claims))
    wanted = {"name": "made", "scopes": ["read"]}

    assert client.post("/v1/api-keys", wanted).status_code == 403
    end = "2999-01-01T00:00:00Z"
    assert client.post("/v1/api-keys", {**wanted, "expires_at": end}).status_code == 403
    soon = (timezone.now() + timedelta(minutes=5)).isoformat()
    owner = {**wanted, "expires_at": soon, "owner": True}
    assert client.post("/v1/api-keys", owner).status_code == 403
    assert client.post("/v1/api-keys", {**wanted, "expires_at": soon}).status_code == 201


def test_the_rate_counts_a_subject_whatever_its_tokens_say(alpha, trusting):
    trusting(alpha)
    issuers = conf().jwt_issuers
    settings_of_two = replace(conf(), api_calls_per_second=1, jwt_issuers=issuers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.PUNCTUAL", settings_of_two)
        answers = [
            _by(token_of(claims_of(scope=scope, jti=str(number)))).get("/v1/me").status_code
            for number, scope in enumerate(["read", "write", "read write", "admin"])
        ]
        other = _by(token_of(claims_of(sub="service-2"))).get("/v1/me")

    assert answers[:2] == [200, 200]
    assert 429 in answers[2:]
    assert other.status_code == 200


def test_a_tenants_own_rate_holds_for_tokens_and_not_for_another_tenants(alpha, trusting):
    trusting(alpha, make_tenant("Beta"))
    change_quotas(alpha.id, actor=COMMAND, limits={"calls_per_second": 7})

    own = _by(token_of(claims_of("Alpha"))).get("/v1/me")
    other = _by(token_of(claims_of("Beta"))).get("/v1/me")

    assert own.json()["limits"]["calls_per_second"] == 7
    assert own.headers["RateLimit-Policy"] == '"calls";q=14;w=2'
    assert other.json()["limits"]["calls_per_second"] is None


def test_a_replay_is_for_the_same_subject_and_scopes_only(alpha, trusting):
    trusting(alpha)
    wanted = {"idempotency_required": False}

    def ask(**claims: Any) -> int:
        client = _by(token_of(claims_of(**claims)))
        return int(client.patch("/v1/me", wanted, idempotency_key="once").status_code)

    assert ask(scope="admin") == 200
    assert ask(scope="admin", jti="another token") == 200
    assert ask(scope="admin read") == 422
    assert ask(scope="admin", sub="service-2") == 422


def test_an_issuer_over_http_rotates_its_keys_and_goes_away(alpha, trusting, monkeypatch):
    monkeypatch.setattr(issuer_keys, "_registry", {})
    first, second = private_key("RSA"), private_key("P-256")
    with http_receiver() as server:
        trusting(
            alpha,
            jwks_url=server.url,
            jwks_networks=("127.0.0.1/32",),
            algorithms=("RS256", "ES256"),
        )
        server.status = 503
        by_first = token_of(claims_of(), first, "RS256", kid="first")
        away = _by(by_first).get("/v1/me")
        assert (away.status_code, away.json()["code"]) == (503, "issuer_unavailable")
        assert 1 <= int(away.headers["Retry-After"]) <= 30

        server.status, server.body = 200, key_set(public_jwk(first, kid="first"))
        monkeypatch.setattr(issuer_keys, "PAUSE_SECONDS", 0.0)
        assert _by(by_first).get("/v1/me").status_code == 200
        server.body = key_set(public_jwk(second, kid="second"))
        by_second = token_of(claims_of(), second, "ES256", kid="second")
        assert _by(by_second).get("/v1/me").status_code == 200
        assert _by(by_first).get("/v1/me").status_code == 401


def test_the_document_names_both_kinds_of_callers(client):
    schemes = client.get("/v1/schema/").json()["components"]["securitySchemes"]

    assert schemes["jsonWebToken"]["bearerFormat"] == "JWT"
    assert schemes["apiKey"]["scheme"] == "bearer"
