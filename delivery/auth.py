"""How a request proves who sends it: basic, bearer, an API key, or a fetched token.

Read once per definition. The proof is never shown: no message, log or answer repeats it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from delivery.http_messages import Request
from shared.addresses import AllowList, TargetUrl, parse_target_url

AUTHORIZATION = "Authorization"


@dataclass(frozen=True, slots=True)
class HeaderAuth:
    """A header with a fixed value: basic, bearer, or an API key."""

    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueryAuth:
    """An API key in the URL's query."""

    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """OAuth 2 client credentials: the token is fetched (:mod:`delivery.oauth`)."""

    token_url: TargetUrl
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None
    audience: str | None


Auth = HeaderAuth | QueryAuth | ClientCredentials


def read_auth(
    auth: Mapping[str, Any] | None, allow: AllowList, allowed_ports: tuple[int, ...]
) -> Auth | None:
    """Return the authentication of a target in normal form, None when there is none.

    UrlError when the token endpoint may not be called.
    """
    if auth is None:
        return None
    if auth["type"] == "basic":
        pair = f"{auth['username']}:{auth['password']}".encode()
        return HeaderAuth(AUTHORIZATION, "Basic " + base64.b64encode(pair).decode())
    if auth["type"] == "bearer":
        return HeaderAuth(AUTHORIZATION, f"Bearer {auth['token']}")
    if auth["type"] == "api_key":
        kind = QueryAuth if auth["in"] == "query" else HeaderAuth
        return kind(auth["name"], auth["value"])
    if auth["type"] != "oauth2":
        raise ValueError("The target's authentication is of an unknown type.")
    return ClientCredentials(
        token_url=parse_target_url(auth["token_url"], allow, allowed_ports),
        client_id=auth["client_id"],
        client_secret=auth["client_secret"],
        scope=auth.get("scope"),
        audience=auth.get("audience"),
    )


def header_names(auth: Auth | None) -> frozenset[str]:
    """Return the lower-case names of the headers that the authentication sets."""
    if isinstance(auth, HeaderAuth):
        return frozenset({auth.name.lower()})
    return frozenset({AUTHORIZATION.lower()} if isinstance(auth, ClientCredentials) else ())


def bearer(token: str) -> HeaderAuth:
    """Return the header that carries a token."""
    return HeaderAuth(AUTHORIZATION, f"Bearer {token}")


def authenticated(request: Request, auth: HeaderAuth | QueryAuth) -> Request:
    """Return the request with its proof; a header of the same name gives way."""
    if isinstance(auth, HeaderAuth):
        return replace(request, headers=_with_header(request.headers, auth))
    path = request.url.path_and_query
    pair = f"{quote(auth.name, safe='')}={quote(auth.value, safe='')}"
    joined = f"{path}{'&' if '?' in path else '?'}{pair}"
    return replace(request, url=replace(request.url, path_and_query=joined))


def _with_header(headers: Sequence[tuple[str, str]], auth: HeaderAuth) -> list[tuple[str, str]]:
    name = auth.name.lower()
    others = [(key, value) for key, value in headers if key.lower() != name]
    return [*others, (auth.name, auth.value)]
