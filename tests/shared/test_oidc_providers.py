from __future__ import annotations

import json
from typing import Any

import pytest

from shared.addresses import UrlError
from shared.oidc_providers import ProvidersInvalid, read_or_problem, read_providers

TENANT = "01890000-0000-7000-8000-000000000001"
GOOD: dict[str, Any] = {
    "name": "acme",
    "label": "Acme SSO",
    "issuer": "https://id.example.com/realms/main",
    "client_id": "punctual",
    "client_secret": "s3cret-of-the-client",
    "email_domains": ["example.com"],
    "accounts": [{"group": "on-call", "tenant": TENANT, "role": "operator"}],
}


def read(*entries: Any) -> Any:
    return read_providers(json.dumps(list(entries)))


def test_a_provider_is_read_with_the_safe_defaults():
    [found] = read({name: GOOD[name] for name in ("name", "issuer", "client_id")})

    assert (found.label, found.algorithms, found.second_factor) == ("acme", ("RS256",), "ask")
    assert (found.email_domains, found.accounts) == ((), ())
    assert found.scopes == ("openid", "email", "profile")


def test_every_field_is_read():
    [found] = read(
        {**GOOD, "scopes": ["groups"], "second_factor": ["mfa"], "groups_claim": ["a", "b"]}
    )

    assert found.scopes == ("openid", "groups")
    assert (found.second_factor, found.groups_claim) == (("mfa",), ("a", "b"))
    assert str(found.accounts[0].tenant_id) == TENANT


def test_no_setting_is_no_provider():
    assert read_or_problem("  ") == ((), "")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Acme"},
        {"name": "a/b"},
        {"name": None},
        {"label": "a\u202eb"},
        {"label": ""},
        {"issuer": "http://id.example.com"},
        {"issuer": "https://id.example.com?x=1"},
        {"issuer": "https://10.0.0.1"},
        {"issuer": "file:///etc/passwd"},
        {"client_id": ""},
        {"client_secret": "two words"},
        {"networks": ["10.0.0.0/33"]},
        {"algorithms": ["none"]},
        {"algorithms": ["HS256"]},
        {"algorithms": []},
        {"scopes": ["a b"]},
        {"email_domains": ["Example.com"]},
        {"email_domains": ["*.example.com"]},
        {"email_domains": ["@example.com"]},
        {"second_factor": "never"},
        {"second_factor": []},
        {"accounts": {}},
        {"accounts": [{"group": "g", "domain": "example.com", "tenant": TENANT, "role": "viewer"}]},
        {"accounts": [{"group": "g", "tenant": TENANT, "role": "owner"}]},
        {"accounts": [{"group": "g", "tenant": "x", "role": "viewer"}]},
        {"accounts": [{"group": "", "tenant": TENANT, "role": "viewer"}]},
        {"accounts": [{"domain": "elsewhere.test", "tenant": TENANT, "role": "viewer"}]},
        {"accounts": [{"group": "g", "tenant": TENANT, "role": "viewer", "if": 1}]},
        {"accounts": GOOD["accounts"], "email_domains": []},
        {"unknown": 1},
    ],
    ids=repr,
)
def test_a_mistake_refuses_the_whole_setting_without_its_secret(change: dict[str, Any]):
    other = {**GOOD, "name": "other", "issuer": "https://other.example.com"}
    found, problem = read_or_problem(json.dumps([other, {**GOOD, **change}]))

    assert found == ()
    assert problem.startswith("OIDC_PROVIDERS: entry 1")
    assert "s3cret" not in problem


@pytest.mark.parametrize(
    "text", ["{", "{}", "[1]", '[{"name": "a", "name": "b"}]', '"s3cret"', "[" * 10_000]
)
def test_what_is_no_list_of_objects_is_refused(text: str):
    with pytest.raises(ProvidersInvalid) as refused:
        read_providers(text)
    assert "s3cret" not in str(refused.value)


def test_each_name_and_issuer_stands_once():
    for twin in ({**GOOD, "name": "b"}, {**GOOD, "issuer": "https://b.example.com"}):
        with pytest.raises(ProvidersInvalid):
            read(GOOD, twin)


def test_the_secret_is_in_no_representation():
    assert "s3cret" not in repr(read(GOOD))


def test_only_https_is_called_unless_the_network_is_listed():
    [inside] = read({**GOOD, "issuer": "http://127.0.0.1:9000", "networks": ["127.0.0.1/32"]})

    assert inside.url("http://127.0.0.1:9000/token").port == 9000
    with pytest.raises(UrlError):
        inside.url("http://example.com/token")
