from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from shared.jwt_issuers import IssuersInvalid, read_issuers, read_or_problem
from tenants.choices import SCOPES

TENANT = str(uuid4())
SECRET = "a secret that is long enough for it"
BY_URL: dict[str, Any] = {
    "issuer": "https://login.example.com",
    "jwks_url": "https://login.example.com/keys",
    "audience": "punctual",
    "algorithms": ["RS256"],
    "tenants": {"billing": TENANT},
    "scopes": {"tasks:read": ["read"]},
}
BY_SECRET = {
    **{name: value for name, value in BY_URL.items() if name != "jwks_url"},
    "secret": SECRET,
    "algorithms": ["HS256"],
}


def _read(*entries: Any) -> Any:
    return read_issuers(json.dumps(list(entries)))


def test_an_issuer_is_read_with_its_defaults():
    [found] = _read(BY_URL)

    assert (found.issuer, found.jwks_url) == (BY_URL["issuer"], BY_URL["jwks_url"])
    assert (found.audience, found.algorithms) == (("punctual",), ("RS256",))
    assert {name: str(tenant) for name, tenant in found.tenants.items()} == {"billing": TENANT}
    assert found.scopes == {"tasks:read": ("read",)}
    assert (found.leeway_seconds, found.max_lifetime_seconds) == (30, 3600)
    assert (found.tenant_claim, found.scope_claim) == (("tenant",), ("scope",))
    assert read_issuers("") == read_issuers(" ") == ()


def test_tenants_may_be_a_list_of_ids_and_claims_may_lie_deep():
    [found] = _read({**BY_URL, "tenants": [TENANT], "scope_claim": ["realm_access", "roles"]})

    assert {name: str(tenant) for name, tenant in found.tenants.items()} == {TENANT: TENANT}
    assert found.scope_claim == ("realm_access", "roles")


BAD: tuple[tuple[str, Any], ...] = (
    ("issuer", ""),
    ("issuer", "x" * 201),
    ("issuer", None),
    ("jwks_url", "http://login.example.com/keys"),
    ("jwks_url", "https://127.0.0.1/keys"),
    ("jwks_url", "https://169.254.169.254/keys"),
    ("jwks_url", "file:///etc/passwd"),
    ("jwks_url", "https://user:password@login.example.com/keys"),
    ("jwks_url", 7),
    ("jwks_networks", ["nowhere"]),
    ("secret", SECRET),
    ("audience", []),
    ("audience", ""),
    ("audience", None),
    ("algorithms", []),
    ("algorithms", ["none"]),
    ("algorithms", ["RS256", "HS256"]),
    ("algorithms", ["rs256"]),
    ("leeway_seconds", 61),
    ("leeway_seconds", -1),
    ("leeway_seconds", True),
    ("max_lifetime_seconds", 86_401),
    ("max_lifetime_seconds", 59),
    ("tenants", {}),
    ("tenants", []),
    ("tenants", ["Billing"]),
    ("tenants", {"billing": 7}),
    ("tenants", [TENANT, TENANT]),
    ("scopes", {}),
    ("scopes", {"all": ["owner"]}),
    ("scopes", {"all": []}),
    ("scopes", ["read"]),
    ("scope_claim", [""]),
    ("kid", "x"),
)


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_field_is_refused_with_a_sentence(field, value):
    with pytest.raises(IssuersInvalid, match=r"^JWT_ISSUERS: .*\.$"):
        _read({**BY_URL, field: value})


@pytest.mark.parametrize(
    ("algorithms", "secret"),
    [
        (["HS256"], "x" * 31),
        (["HS384"], "x" * 47),
        (["HS256", "HS512"], "x" * 63),
        (["RS256"], "x" * 64),
        (["HS256"], 7),
        (["HS256"], "-----BEGIN PUBLIC KEY-----" + "x" * 64),
    ],
)
def test_a_secret_is_as_long_as_its_hash_and_for_hs_only(algorithms, secret):
    with pytest.raises(IssuersInvalid) as raised:
        _read({**BY_SECRET, "algorithms": algorithms, "secret": secret})

    assert str(secret) not in str(raised.value) or secret == 7


@pytest.mark.parametrize(
    "text", ["{", "{}", "[7]", '[{"issuer": "a", "issuer": "b"}]', f'["{SECRET}"', "[" * 100_000]
)
def test_what_is_no_list_of_objects_is_a_problem_that_quotes_nothing(text):
    found, problem = read_or_problem(text)

    assert found == ()
    assert problem.startswith("JWT_ISSUERS: ")
    assert SECRET not in problem


def test_an_issuer_is_named_once():
    with pytest.raises(IssuersInvalid):
        _read(BY_URL, BY_SECRET)


def test_a_private_key_set_is_reached_where_the_issuer_names_its_network():
    [found] = _read(
        {**BY_URL, "jwks_url": "http://127.0.0.1:8080/", "jwks_networks": "127.0.0.1/32"}
    )

    assert found.jwks_networks == ("127.0.0.1/32",)


def test_no_secret_is_in_the_text_of_an_issuer():
    assert SECRET not in repr(_read(BY_SECRET))


def test_an_issuer_may_give_the_scopes_that_keys_have():
    [found] = _read({**BY_URL, "scopes": {"all": list(SCOPES)}})

    assert found.scopes["all"] == SCOPES


def test_a_secret_that_has_no_bytes_is_a_problem_and_not_an_error():
    given, problem = read_or_problem(json.dumps([{**BY_SECRET, "secret": SECRET + "\ud800"}]))

    assert given == ()
    assert "`secret` must not hold halves of characters" in problem
    assert SECRET not in problem
