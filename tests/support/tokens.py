"""Issuers of JSON Web Tokens, their keys, and the tokens that they and impostors sign."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import warnings
from functools import cache
from time import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.warnings import InsecureKeyLengthWarning

from shared.jwt_issuers import JwtIssuer
from tenants.choices import SCOPES
from tenants.models import Tenant

ISSUER = "https://login.example.com"
AUDIENCE = "punctual"
SECRET = "s" * 64


def issuer_of(*tenants: Tenant, **parts: Any) -> JwtIssuer:
    """Return an issuer that names the tenants by their names, with a shared secret unless told."""
    defaults: dict[str, Any] = {
        "issuer": ISSUER,
        "audience": (AUDIENCE,),
        "algorithms": ("HS256",),
        "tenants": {tenant.name: tenant.pk for tenant in tenants},
        "scopes": {scope: (scope,) for scope in SCOPES},
        "secret": "" if "jwks_url" in parts else SECRET,
    }
    return JwtIssuer(**{**defaults, **parts})


def claims_of(tenant: str | None = "Alpha", scope: Any = "read", **parts: Any) -> dict[str, Any]:
    """Return claims that are valid now; a part of None leaves its claim out."""
    now = int(time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "service-1",
        "iat": now,
        "exp": now + 600,
        "tenant": tenant,
        "scope": scope,
        **parts,
    }
    return {name: value for name, value in claims.items() if value is not None}


def token_of(
    claims: dict[str, Any] | None = None,
    key: Any = SECRET,
    algorithm: str = "HS256",
    **header: Any,
) -> str:
    """Return a token that the key has signed, also where the key is too short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureKeyLengthWarning)
        return jwt.encode(claims or claims_of(), key, algorithm, headers=header)


def raw_token(header: Any, claims: Any, sign: Any = SECRET) -> str:
    """Return a token with exactly these parts, which the library would not make; HMAC signs it."""
    parts = [
        one if isinstance(one, bytes) else json.dumps(one).encode() for one in (header, claims)
    ]
    text = ".".join(_encoded(part) for part in parts)
    key = sign if isinstance(sign, bytes) else sign.encode()
    return f"{text}.{_encoded(hmac.digest(key, text.encode(), hashlib.sha256))}"


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def private_key(kind: str, number: int = 0) -> Any:
    """Return a private key of the kind: RSA, RSA-1024, an elliptic curve, Ed25519 or Ed448."""
    return _private_key(kind, number)


@cache
def _private_key(kind: str, number: int) -> Any:
    if kind.startswith("RSA"):
        return rsa.generate_private_key(65537, 1024 if kind == "RSA-1024" else 2048)
    if kind == "Ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    if kind == "Ed448":
        return ed448.Ed448PrivateKey.generate()
    curves: dict[str, Any] = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}
    return ec.generate_private_key(curves[kind]())


def public_jwk(key: Any, **parts: Any) -> dict[str, Any]:
    """Return the public half as a set has it."""
    maker: Any = OKPAlgorithm
    if isinstance(key, rsa.RSAPrivateKey):
        maker = RSAAlgorithm
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        maker = ECAlgorithm
    found: dict[str, Any] = maker.to_jwk(key.public_key(), as_dict=True)
    # Some versions name the operation; a set need not.
    found.pop("key_ops", None)
    return {**found, **parts}


def key_set(*keys: dict[str, Any]) -> bytes:
    """Return the body that an issuer answers with."""
    return json.dumps({"keys": list(keys)}).encode()
