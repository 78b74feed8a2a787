"""Tokens that are taken, and a table of attacks, each refused with the reason for the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from time import time
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from api.tenants import issuer_keys, json_web_tokens
from api.tenants.issuer_keys import IssuerKeys, read_keys
from api.tenants.json_web_tokens import MAX_TOKEN_LENGTH, TokenRefused, is_token, verify
from shared.jwt_issuers import JwtIssuer
from tests.support.http_receiver import http_receiver
from tests.support.tokens import (
    AUDIENCE,
    ISSUER,
    claims_of,
    issuer_of,
    key_set,
    private_key,
    public_jwk,
    raw_token,
    token_of,
)

ALPHA, BETA = uuid4(), uuid4()
BY_SECRET: JwtIssuer = issuer_of(tenants={"Alpha": ALPHA})
OTHER = "https://other.example.com"


def _set() -> bytes:
    """Return a set of many keys, most of which are fit for nothing that is asked of them."""
    return key_set(
        public_jwk(private_key("RSA"), kid="rsa", use="sig"),
        public_jwk(private_key("RSA-1024"), kid="small"),
        public_jwk(private_key("P-256"), kid="ec"),
        public_jwk(private_key("P-384"), kid="ec-384"),
        public_jwk(private_key("Ed25519"), kid="ed"),
        public_jwk(private_key("RSA"), kid="ps-only", alg="PS256"),
        public_jwk(private_key("RSA"), kid="enc", use="enc"),
        public_jwk(private_key("RSA"), kid="sign", key_ops=["sign"]),
        public_jwk(private_key("RSA"), kid="twice"),
        public_jwk(private_key("RSA", 1), kid="twice"),
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
    )


BY_SET: JwtIssuer = issuer_of(
    tenants={"Alpha": ALPHA},
    jwks_url="https://login.example.com/keys",
    algorithms=("RS256", "PS256", "ES256", "ES384", "EdDSA"),
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each issuer the set without a fetch."""
    found = IssuerKeys(BY_SET, lambda issuer: (read_keys(_set()), 300.0))
    monkeypatch.setattr(json_web_tokens, "keys_of", lambda issuer: found)


def _signed(kind: str = "RSA", algorithm: str = "RS256", number: int = 0, **header: Any) -> str:
    key = private_key(kind, number)
    return token_of(claims_of(), key, algorithm, **{"kid": "rsa", **header})


def _by_impostor(**header: Any) -> str:
    """Return a token that another key than the named one has signed."""
    return _signed(number=1, **header)


def _public_text() -> bytes:
    public = private_key("RSA").public_key()
    found: bytes = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return found


def _hs(**claims: Any) -> str:
    return token_of(claims_of(**claims))


def test_a_token_says_who_asks_for_which_tenant_and_what_it_may_do():
    end = int(time()) + 600

    found = verify(_hs(scope="read operate unknown", exp=end), [BY_SECRET])

    assert (found.issuer, found.subject, found.tenant_id) == (ISSUER, "service-1", ALPHA)
    assert found.scopes == {"read", "operate"}
    assert found.expires_at == datetime.fromtimestamp(end, UTC)


@pytest.mark.parametrize(
    ("kind", "algorithm", "key_id"),
    [
        ("RSA", "RS256", "rsa"),
        ("RSA", "PS256", "rsa"),
        ("P-256", "ES256", "ec"),
        ("P-384", "ES384", "ec-384"),
        ("Ed25519", "EdDSA", "ed"),
    ],
)
def test_each_kind_of_key_verifies_what_it_has_signed(kind, algorithm, key_id):
    found = verify(_signed(kind, algorithm, kid=key_id), [BY_SET])

    assert found.scopes == {"read"}


NOW = int(time())
FAR = NOW + 10**6
#: Name -> the token, and the reason.
ATTACKS: dict[str, tuple[Callable[[], str], str]] = {
    # algorithms and keys
    "no algorithm": (lambda: raw_token({"alg": "none"}, claims_of()), "algorithm"),
    "an algorithm in capitals": (lambda: raw_token({"alg": "NONE"}, claims_of()), "algorithm"),
    "the public key as a secret": (
        lambda: raw_token({"alg": "HS256", "kid": "rsa"}, claims_of(), _public_text()),
        "algorithm",
    ),
    "the shared key of a set": (
        lambda: raw_token({"alg": "HS256", "kid": "shared"}, claims_of(), "secret"),
        "algorithm",
    ),
    "a list of algorithms": (lambda: raw_token({"alg": ["RS256"]}, claims_of()), "algorithm"),
    "an algorithm that is not listed": (lambda: _signed(algorithm="RS512"), "algorithm"),
    "a key of another kind": (lambda: _signed(kid="ec"), "key"),
    "a curve of another algorithm": (lambda: _signed("P-256", "ES256", kid="ec-384"), "key"),
    "a key that is too short": (lambda: _signed("RSA-1024", kid="small"), "key"),
    "a key for another algorithm": (lambda: _signed("RSA", kid="ps-only"), "key"),
    "a key for encryption": (lambda: _signed("RSA", kid="enc"), "key"),
    "a key that only signs": (lambda: _signed("RSA", kid="sign"), "key"),
    "an id of two keys": (lambda: _signed("RSA", kid="twice"), "key"),
    "no key id among several keys": (
        lambda: token_of(claims_of(), private_key("RSA"), "RS256"),
        "key",
    ),
    "an unknown key id": (lambda: _signed(kid="../../dev/null"), "key"),
    "a key id that is a number": (
        lambda: raw_token({"alg": "RS256", "kid": 7}, claims_of()),
        "key_id",
    ),
    "another key": (lambda: _by_impostor(), "signature"),
    "an embedded key": (
        lambda: _by_impostor(jwk=public_jwk(private_key("RSA", 1), kid="rsa")),
        "signature",
    ),
    "a chain of certificates": (lambda: _by_impostor(x5c=["AAAA"], x5t="AAAA"), "signature"),
    "an empty signature of a curve": (
        lambda: _signed("P-256", "ES256", kid="ec").rpartition(".")[0] + "." + "A" * 86,
        "signature",
    ),
    # the header
    "a critical header": (lambda: _signed(crit=["exp"], exp=1), "critical_header"),
    "an unencoded payload": (
        lambda: raw_token({"alg": "RS256", "kid": "rsa", "b64": False}, claims_of()),
        "critical_header",
    ),
    "a compressed payload": (lambda: _signed(zip="DEF"), "critical_header"),
    "a token of a sign-out": (lambda: _signed(typ="logout+jwt"), "type"),
    "a proof of possession": (lambda: _signed(typ="dpop+jwt"), "type"),
    "a type that is a number": (
        lambda: raw_token({"alg": "RS256", "kid": "rsa", "typ": 7}, claims_of()),
        "type",
    ),
}
CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "no issuer": ({"iss": None}, "unknown_issuer"),
    "another issuer": ({"iss": OTHER}, "unknown_issuer"),
    "nearly the issuer": ({"iss": ISSUER + "/"}, "unknown_issuer"),
    "a list of issuers": ({"iss": [ISSUER]}, "unknown_issuer"),
    "no audience": ({"aud": None}, "invalid"),
    "another audience": ({"aud": "another"}, "audience"),
    "a part of the audience": ({"aud": AUDIENCE[:-1]}, "audience"),
    "other audiences": ({"aud": ["a", "b"]}, "audience"),
    "an audience that is a number": ({"aud": 7}, "audience"),
    "no end": ({"exp": None}, "times"),
    "an end in the past": ({"iat": NOW - 900, "exp": NOW - 300}, "expired"),
    "an end as text": ({"exp": str(NOW + 600)}, "times"),
    "an end that is true": ({"exp": True}, "times"),
    "an end beyond numbers": ({"exp": 1e300}, "times"),
    "a negative end": ({"exp": -1}, "times"),
    "an end as a list": ({"exp": [NOW + 600]}, "times"),
    "too long a life": ({"exp": NOW + 5000}, "lifetime"),
    "too long a life without a begin": ({"exp": NOW + 5000, "iat": None}, "lifetime"),
    "a begin in the far future": ({"iat": FAR, "exp": FAR + 60}, "lifetime"),
    "a begin in the near future": ({"iat": NOW + 900, "exp": NOW + 1200}, "invalid"),
    "not valid yet": ({"nbf": NOW + 900}, "invalid"),
    "a begin as text": ({"nbf": "now"}, "times"),
    "no subject": ({"sub": None}, "invalid"),
    "an empty subject": ({"sub": ""}, "subject"),
    "a long subject": ({"sub": "x" * 256}, "subject"),
    "no tenant": ({"tenant": None}, "tenant"),
    "another tenant": ({"tenant": "Beta"}, "tenant"),
    "the id of a tenant": ({"tenant": str(ALPHA)}, "tenant"),
    "a list of tenants": ({"tenant": ["Alpha"]}, "tenant"),
    "no scope": ({"scope": None}, "scopes"),
    "an unknown scope": ({"scope": "owner root"}, "scopes"),
    "a scope that is a number": ({"scope": 7}, "scopes"),
    "scopes that are no texts": ({"scope": [["read"], {"read": 1}, None]}, "scopes"),
    "too many scopes": ({"scope": ["r"] * 1001}, "scopes"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_token_of_a_wrong_key_or_header_is_refused(name):
    token, reason = ATTACKS[name]

    with pytest.raises(TokenRefused) as raised:
        verify(token(), [BY_SET])

    assert (raised.value.reason, raised.value.issuer) == (reason, ISSUER)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_token_of_wrong_claims_is_refused_although_its_signature_is_right(name):
    claims, reason = CLAIMS[name]
    with time_machine.travel(NOW, tick=False):
        # PyJWT does not sign every claim.
        token = raw_token({"alg": "HS256"}, claims_of(**claims))

        with pytest.raises(TokenRefused) as raised:
            verify(token, [BY_SECRET])

    assert raised.value.reason == reason


def test_a_subject_that_is_no_text_is_refused():
    with pytest.raises(TokenRefused):
        verify(raw_token({"alg": "HS256"}, claims_of(sub=7)), [BY_SECRET])


@pytest.mark.parametrize(
    "claims",
    [
        b'{"iss": "' + ISSUER.encode() + b'", "iss": "x"}',
        json.dumps(claims_of()).encode()[:-1] + b', "tenant": "Beta"}',
        b"[1]",
        b"{",
        b'{"exp": NaN}',
        b"[" * 2000,
    ],
)
def test_claims_that_can_be_read_in_two_ways_or_none_are_refused(claims):
    with pytest.raises(TokenRefused):
        verify(raw_token({"alg": "HS256"}, claims), [BY_SECRET])


def test_a_name_that_stands_twice_in_the_header_makes_no_token():
    assert not is_token(raw_token(b'{"alg": "HS256", "alg": "none"}', claims_of()))


def test_a_changed_part_breaks_the_signature():
    head, body, signature = _hs().split(".")
    other = _hs(scope="admin").split(".")[1]
    flipped = signature[:-2] + ("A" if signature[-2] != "A" else "B") + signature[-1]

    for token in (f"{head}.{other}.{signature}", f"{head}.{body}.{flipped}"):
        with pytest.raises(TokenRefused) as raised:
            verify(token, [BY_SECRET])
        assert raised.value.reason == "signature"


def test_a_secret_of_one_issuer_signs_for_no_other():
    other = issuer_of(issuer=OTHER, tenants={"Alpha": BETA}, secret="o" * 64)

    with pytest.raises(TokenRefused):
        verify(token_of(claims_of(iss=OTHER)), [BY_SECRET, other])
    assert verify(token_of(claims_of(iss=OTHER), "o" * 64), [BY_SECRET, other]).tenant_id == BETA


def test_addresses_of_keys_in_a_token_are_never_called():
    with http_receiver() as attacker:
        attacker.body = key_set(public_jwk(private_key("RSA", 1), kid="rsa"))
        for name in ("jku", "x5u"):
            with pytest.raises(TokenRefused):
                verify(_by_impostor(**{name: attacker.url}), [BY_SET])

        assert attacker.requests == []


def test_the_leeway_of_the_issuer_holds_for_every_time():
    for claims in (
        {"iat": NOW - 600, "exp": NOW - 20},
        {"nbf": NOW + 20},
        {"iat": NOW + 20, "exp": NOW + 600},
    ):
        with time_machine.travel(NOW, tick=False):
            assert verify(_hs(**claims), [BY_SECRET]).subject == "service-1"


def test_scopes_may_come_from_roles_deep_within():
    issuer = issuer_of(
        tenants={"Alpha": ALPHA},
        scope_claim=("realm", "roles"),
        scopes={"Ops Team": ("read", "operate"), "dev": ("write",)},
        tenant_claim=("https://example.com/team",),
    )
    token = token_of(
        claims_of(
            scope=None,
            tenant=None,
            realm={"roles": ["dev", "Ops Team", "other"]},
            **{"https://example.com/team": "Alpha"},
        )
    )

    assert verify(token, [issuer]).scopes == {"read", "operate", "write"}


@pytest.mark.parametrize(
    "text",
    [
        lambda: "pk_abcdefghi_" + "x" * 43,
        lambda: "a.b.c",
        lambda: "x" * 32 + ".y.z",
        lambda: _hs().rpartition(".")[0] + ".",
        lambda: _hs(pad="x" * MAX_TOKEN_LENGTH),
        lambda: raw_token({"typ": "JWT"}, claims_of()),
        lambda: raw_token([], claims_of()),
    ],
    ids=["key", "letters", "given key", "unsigned", "too long", "no algorithm", "no header"],
)
def test_a_text_is_a_token_by_its_form_only(text):
    assert is_token(_hs())
    assert not is_token(text())


def test_an_actor_is_escaped_bounded_and_never_two_subjects():
    def actor(subject: str, issuer: str = ISSUER) -> str:
        one = issuer_of(issuer=issuer, tenants={"Alpha": ALPHA})
        return verify(token_of(claims_of(iss=issuer, sub=subject)), [one]).actor

    assert actor("service-1") == f"jwt:{ISSUER}#service-1"
    hostile = actor("a#b\n\u202ec d%")
    assert hostile == f"jwt:{ISSUER}#a%23b%0A%E2%80%AEc%20d%25"
    long = {actor("x" * 250 + end, ISSUER + "/" + "y" * 170) for end in "ab"}
    assert len(long) == 2
    assert all(len(name) <= 200 for name in long)


def test_the_registry_keeps_the_keys_of_issuers_apart(monkeypatch):
    monkeypatch.setattr(issuer_keys, "_registry", {})
    other = issuer_of(issuer=OTHER, jwks_url=BY_SET.jwks_url, tenants={"Alpha": ALPHA})

    found = issuer_keys.keys_of(BY_SET)

    assert found is issuer_keys.keys_of(BY_SET)
    assert found is not issuer_keys.keys_of(other)
