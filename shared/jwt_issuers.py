"""The issuers of JSON Web Tokens that an installation trusts: JWT_ISSUERS, read and judged.

Everything is an allow-list: algorithms, tenants, and the scopes that each value of a claim gives. A
value with any mistake is refused as a whole, so that no issuer is trusted by half of its settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from shared.addresses import AllowList, UrlError, parse_target_url
from shared.listed_settings import read_list, refuse_unknown

#: What a set of public keys may verify, and what a shared secret may.
BY_KEY_SET = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
#: Algorithm -> the fewest bytes of its secret: those of its hash.
BY_SECRET = {"HS256": 32, "HS384": 48, "HS512": 64}
MAX_LEEWAY_SECONDS = 60
#: The longest life of a token: an hour unless told, a day at most.
DEFAULT_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS = 3600, 86_400
_SCOPES = ("read", "write", "operate", "worker", "admin")
_MOST = 1000
_ISSUER = re.compile(r"[!-~]{1,200}")
_FIELDS = frozenset(
    "issuer jwks_url jwks_networks secret audience algorithms leeway_seconds max_lifetime_seconds "
    "tenant_claim tenants scope_claim scopes".split()
)
_PEM = "-----BEGIN"
#: JSON can spell them, and they have no bytes.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtIssuer:
    """An issuer; exactly one of ``jwks_url`` and ``secret`` is set."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    #: Value of the tenant's claim -> id of the tenant.
    tenants: Mapping[str, UUID]
    #: Value of the scopes' claim -> the scopes that it gives.
    scopes: Mapping[str, tuple[str, ...]]
    jwks_url: str = ""
    #: Networks (CIDR or CIDR:port) of the key set that are not public.
    jwks_networks: tuple[str, ...] = ()
    secret: str = field(default="", repr=False)
    leeway_seconds: int = 30
    max_lifetime_seconds: int = DEFAULT_LIFETIME_SECONDS
    #: Names of the members that lead to the claim, from the outside in.
    tenant_claim: tuple[str, ...] = ("tenant",)
    scope_claim: tuple[str, ...] = ("scope",)


class IssuersInvalid(ValueError):
    """JWT_ISSUERS cannot be used; the message is a sentence without any secret."""


def read_or_problem(text: str) -> tuple[tuple[JwtIssuer, ...], str]:
    """Return the issuers, and the sentence that says why there are none; or an empty one."""
    try:
        return read_issuers(text), ""
    except IssuersInvalid as error:
        return (), str(error)


def read_issuers(text: str) -> tuple[JwtIssuer, ...]:
    """Return the issuers of the setting; raise IssuersInvalid."""
    given = read_list(text, "issuer", _bad)
    found = tuple(_issuer(one, place) for place, one in enumerate(given))
    names = [one.issuer for one in found]
    if len(set(names)) < len(names):
        raise _bad("each issuer may be named once")
    return found


def _issuer(given: Any, place: int) -> JwtIssuer:
    where = f"entry {place}"
    if not isinstance(given, dict):
        raise _bad(f"{where} must be an object")
    refuse_unknown(given, _FIELDS, where, _bad)
    name = given.get("issuer")
    if not isinstance(name, str) or not _ISSUER.fullmatch(name):
        raise _bad(f"{where}: `issuer` must be 1 to 200 visible characters")
    has_secret = "secret" in given
    if has_secret == ("jwks_url" in given):
        raise _bad(f"{where}: give either `jwks_url` or `secret`")
    networks = _texts(given.get("jwks_networks", []), f"{where}: `jwks_networks`", least=0)
    algorithms = _texts(given.get("algorithms"), f"{where}: `algorithms`")
    return JwtIssuer(
        issuer=name,
        audience=_texts(given.get("audience"), f"{where}: `audience`"),
        algorithms=_algorithms(algorithms, where, BY_SECRET if has_secret else BY_KEY_SET),
        tenants=_tenants(given.get("tenants"), where),
        scopes=_scopes(given.get("scopes"), where),
        jwks_url="" if has_secret else _key_set(given["jwks_url"], networks, where),
        jwks_networks=networks,
        secret=_secret(given["secret"], algorithms, where) if has_secret else "",
        leeway_seconds=_number(given, "leeway_seconds", 30, 0, MAX_LEEWAY_SECONDS, where),
        max_lifetime_seconds=_number(
            given, "max_lifetime_seconds", DEFAULT_LIFETIME_SECONDS, 60, MAX_LIFETIME_SECONDS, where
        ),
        tenant_claim=_texts(given.get("tenant_claim", "tenant"), f"{where}: `tenant_claim`"),
        scope_claim=_texts(given.get("scope_claim", "scope"), f"{where}: `scope_claim`"),
    )


def _algorithms(given: Sequence[str], where: str, known: Sequence[str] | Any) -> tuple[str, ...]:
    if not set(given) <= set(known):
        raise _bad(f"{where}: `algorithms` must be some of {', '.join(known)}")
    return tuple(given)


def _secret(given: Any, algorithms: Sequence[str], where: str) -> str:
    needed = max(BY_SECRET.get(one, 0) for one in algorithms)
    if not isinstance(given, str) or len(given.encode(errors="ignore")) < needed:
        raise _bad(f"{where}: `secret` must have at least {needed} bytes for its algorithms")
    if _HALF_CHARACTER.search(given):
        raise _bad(f"{where}: `secret` must not hold halves of characters (surrogates)")
    if _PEM in given:
        raise _bad(f"{where}: `secret` must not be a key in PEM form")
    return given


def _key_set(given: Any, networks: Sequence[str], where: str) -> str:
    if not isinstance(given, str):
        raise _bad(f"{where}: `jwks_url` must be a URL")
    try:
        allow = AllowList(networks)
        url = parse_target_url(given, allow, (443,))
    except UrlError as error:
        raise _bad(f"{where}: `jwks_url`: {error.message}") from error
    except ValueError as error:
        raise _bad(f"{where}: `jwks_networks`: {error}") from error
    if url.scheme != "https" and (url.literal is None or not allow.allows(url.literal, url.port)):
        raise _bad(f"{where}: `jwks_url` must be https")
    return given


def _tenants(given: Any, where: str) -> Mapping[str, UUID]:
    pairs = given if isinstance(given, dict) else {}
    if isinstance(given, list):
        pairs = {one: one for one in given if isinstance(one, str)}
    found = {}
    for value, tenant in pairs.items():
        try:
            found[value] = UUID(tenant)
        except (ValueError, TypeError, AttributeError):
            break
    if not pairs or len(pairs) != len(found) or len(pairs) != len(given) or len(pairs) > _MOST:
        raise _bad(
            f"{where}: `tenants` must be ids of tenants: a list, or an object of claim values"
        )
    return found


def _scopes(given: Any, where: str) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(given, dict) or not 1 <= len(given) <= _MOST:
        raise _bad(f"{where}: `scopes` must be an object: claim value to a list of scopes")
    found = {}
    for value, scopes in given.items():
        listed = _texts(scopes, f"{where}: `scopes`")
        if not set(listed) <= set(_SCOPES):
            raise _bad(f"{where}: `scopes` may give {', '.join(_SCOPES)}")
        found[value] = listed
    return found


def _texts(given: Any, what: str, *, least: int = 1) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if (
        not isinstance(listed, list)
        or not least <= len(listed) <= _MOST
        or not all(isinstance(one, str) and one for one in listed)
    ):
        raise _bad(f"{what} must be a text, or a list of texts")
    return tuple(listed)


def _number(
    given: Mapping[str, Any], name: str, default: int, low: int, high: int, where: str
) -> int:
    value = given.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise _bad(f"{where}: `{name}` must be a whole number from {low} to {high}")
    return value


def _bad(what: str) -> IssuersInvalid:
    return IssuersInvalid(f"JWT_ISSUERS: {what}.")
