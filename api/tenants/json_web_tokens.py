"""Verify JSON Web Tokens of the issuers in JWT_ISSUERS: signature, audience, times, tenant, scopes.

The issuer of a token chooses its settings, and only these: one of its algorithms, one of its keys,
one of its tenants, and the scopes that it maps. What a token says about keys (``jku``, ``x5u``,
``jwk``) is not read. PyJWT checks the signature; what it would convert is judged here first.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time
from typing import Any
from urllib.parse import quote
from uuid import UUID

import jwt

from api.tenants.issuer_keys import IssuerKeys, key_for, keys_of
from shared.exceptions import InvalidInput
from shared.jwt_issuers import JwtIssuer
from shared.strict_json import read_json
from tenants.choices import SCOPES

#: A longer token is refused unread.
MAX_TOKEN_LENGTH = 8192
#: The most values of the scopes' claim that are looked up.
_MOST_VALUES = 1000
_LONGEST_SUBJECT = 255
#: The parts of an actor's name; longer ones end in a hash.
_LONGEST_PART = 90
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
#: Types of tokens for access; others, such as tokens of a sign-out, are for something else.
_TYPES = ("jwt", "at+jwt", "application/jwt", "application/at+jwt")
_LATEST = 10**11
_REQUIRED = ("exp", "iss", "aud", "sub")


class TokenRefused(Exception):
    """The token is refused; ``reason`` is a word of this module, ``issuer`` one of the settings."""

    def __init__(self, reason: str, issuer: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.issuer = issuer


@dataclass(frozen=True, slots=True)
class Claims:
    """What a verified token says, as far as it counts."""

    issuer: str
    subject: str
    tenant_id: UUID
    scopes: frozenset[str]
    expires_at: datetime

    @property
    def actor(self) -> str:
        """Return the name in the audit log: ``jwt:<issuer>#<sub>``, escaped and bounded."""
        return f"jwt:{_part(self.issuer)}#{_part(self.subject)}"


def is_token(text: str) -> bool:
    """Return whether the text has the form of a signed token; keys have no such header."""
    if len(text) > MAX_TOKEN_LENGTH:
        return False
    found = _FORM.fullmatch(text)
    return found is not None and isinstance(_json(found[1]).get("alg"), str)


def verify(token: str, issuers: Iterable[JwtIssuer]) -> Claims:
    """Return the claims of a valid token of one of the issuers.

    Raise TokenRefused; IssuerUnavailable where the issuer's keys cannot be had.
    """
    header, claims = read_token(token, MAX_TOKEN_LENGTH)
    named = claims.get("iss")
    issuer = next((one for one in issuers if one.issuer == named), None)
    if issuer is None:
        raise TokenRefused("unknown_issuer")
    try:
        lives_until = check_token(token, header, claims, issuer)
        return Claims(
            issuer=issuer.issuer,
            subject=_subject(claims),
            tenant_id=_tenant(claims, issuer),
            scopes=_scopes(claims, issuer),
            expires_at=lives_until,
        )
    except TokenRefused as refused:
        refused.issuer = issuer.issuer
        raise


def read_token(token: str, longest: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token, unverified; raise TokenRefused for what is none."""
    found = _FORM.fullmatch(token) if len(token) <= longest else None
    if found is None:
        raise TokenRefused("malformed")
    return _json(found[1]), _json(found[2])


def check_token(
    token: str,
    header: Mapping[str, Any],
    claims: Mapping[str, Any],
    issuer: JwtIssuer,
    keys: IssuerKeys | None = None,
) -> datetime:
    """Check header, times, issuer, audience, subject and signature; return the token's end.

    ``keys`` are those of the issuer unless told. Raise TokenRefused, IssuerUnavailable.
    """
    algorithm, key_id = _of_header(header, issuer)
    lives_until = _of_times(claims, issuer)
    _verify_signature(token, issuer, algorithm, key_id, keys)
    _subject(claims)
    return lives_until


def _of_header(header: Mapping[str, Any], issuer: JwtIssuer) -> tuple[str, str | None]:
    if "crit" in header or "b64" in header or "zip" in header:
        raise TokenRefused("critical_header")
    algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if algorithm not in issuer.algorithms:
        raise TokenRefused("algorithm")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise TokenRefused("type")
    if key_id is not None and not isinstance(key_id, str):
        raise TokenRefused("key_id")
    return str(algorithm), key_id


def _of_times(claims: Mapping[str, Any], issuer: JwtIssuer) -> datetime:
    """Return when the token ends; refuse times that are no numbers, and a life that is too long."""
    times: dict[str, float] = {}
    for name in ("exp", "nbf", "iat"):
        if name in claims:
            value = claims[name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TokenRefused("times")
            if not 0 <= value < _LATEST:
                raise TokenRefused("times")
            times[name] = value
    if "exp" not in times:
        raise TokenRefused("times")
    begins = min(times.get("iat", time()), time() + issuer.leeway_seconds)
    if times["exp"] - begins > issuer.max_lifetime_seconds + issuer.leeway_seconds:
        raise TokenRefused("lifetime")
    return datetime.fromtimestamp(times["exp"], UTC)


def _verify_signature(
    token: str, issuer: JwtIssuer, algorithm: str, key_id: str | None, keys: IssuerKeys | None
) -> None:
    key: Any = issuer.secret
    if not issuer.secret:
        key = key_for((keys or keys_of(issuer)).current(key_id), algorithm, key_id)
        if key is None:
            raise TokenRefused("key")
    try:
        jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=list(issuer.audience),
            issuer=issuer.issuer,
            leeway=issuer.leeway_seconds,
            options={"require": list(_REQUIRED)},
        )
    except jwt.ExpiredSignatureError as error:
        raise TokenRefused("expired") from error
    except jwt.InvalidAudienceError as error:
        raise TokenRefused("audience") from error
    except jwt.InvalidSignatureError as error:
        raise TokenRefused("signature") from error
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
        raise TokenRefused("invalid") from error


def _subject(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= _LONGEST_SUBJECT:
        raise TokenRefused("subject")
    return subject


def _tenant(claims: Mapping[str, Any], issuer: JwtIssuer) -> UUID:
    value = _claim(claims, issuer.tenant_claim)
    found = issuer.tenants.get(value) if isinstance(value, str) else None
    if found is None:
        raise TokenRefused("tenant")
    return found


def _scopes(claims: Mapping[str, Any], issuer: JwtIssuer) -> frozenset[str]:
    value = _claim(claims, issuer.scope_claim)
    values = [value, *value.split()] if isinstance(value, str) else value
    if not isinstance(values, list) or len(values) > _MOST_VALUES:
        raise TokenRefused("scopes")
    given = {
        scope
        for one in values
        if isinstance(one, str)
        for scope in issuer.scopes.get(one, ())
        if scope in SCOPES
    }
    if not given:
        raise TokenRefused("scopes")
    return frozenset(given)


def _claim(claims: Mapping[str, Any], path: Iterable[str]) -> Any:
    found: Any = claims
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def _json(segment: str) -> dict[str, Any]:
    """Return the object of a segment; an empty one where there is none."""
    try:
        raw = base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True)
        found = read_json(raw)
    except (binascii.Error, InvalidInput):
        return {}
    return found if isinstance(found, dict) else {}


def _part(text: str) -> str:
    escaped = quote(text, safe="!$&'()*+,/:;=?@[]~|")
    if len(escaped) <= _LONGEST_PART:
        return escaped
    # The hash keeps two long names with one begin apart.
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{escaped[: _LONGEST_PART - 17]}~{digest}"
