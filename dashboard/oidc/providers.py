"""What each OpenID provider publishes: its endpoints and keys, fetched and kept as key sets are.

Endpoints and keys are fetched together, so that both obey one bound: at most once in 30 seconds,
by few threads, through the address guard. Only addresses that the provider's settings allow count.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from api.tenants.issuer_keys import (
    FetchFailed,
    IssuerKeys,
    PublicKey,
    fetch_document,
    fetch_keys,
)
from shared.addresses import AllowList, UrlError
from shared.conf import conf
from shared.exceptions import InvalidInput, NotFound
from shared.jwt_issuers import MAX_LEEWAY_SECONDS, MAX_LIFETIME_SECONDS, JwtIssuer
from shared.oidc_providers import OidcProvider
from shared.strict_json import read_json

_WELL_KNOWN = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where people are sent, and where their codes are redeemed."""

    authorization: str
    token: str
    #: Whether each answer to the browser names the issuer (RFC 9207).
    names_itself: bool
    #: How the client proves itself at the token endpoint.
    client_proofs: tuple[str, ...]


class PublishedProvider:
    """A provider with what it has published."""

    def __init__(self, provider: OidcProvider) -> None:
        self.provider = provider
        #: Judges ID tokens as tokens of services are judged; it gives no tenant and no scope.
        self.issuer = JwtIssuer(
            issuer=provider.issuer,
            audience=(provider.client_id,),
            algorithms=provider.algorithms,
            tenants={},
            scopes={},
            jwks_networks=provider.networks,
            leeway_seconds=MAX_LEEWAY_SECONDS,
            max_lifetime_seconds=MAX_LIFETIME_SECONDS,
        )
        self._endpoints: Endpoints | None = None
        self.keys = IssuerKeys(self.issuer, self._fetch)

    def endpoints(self) -> Endpoints:
        """Return the provider's endpoints; raise IssuerUnavailable where there are none."""
        self.keys.current(None)
        found = self._endpoints
        if found is None:
            raise RuntimeError("keys without endpoints")
        return found

    def _fetch(self, issuer: JwtIssuer) -> tuple[tuple[PublicKey, ...], float]:
        allow = AllowList(self.provider.networks)
        place = self.provider.issuer.removesuffix("/") + _WELL_KNOWN
        body, seconds = fetch_document(place, allow)
        endpoints, keys_at = read_published(body, self.provider)
        keys, seconds_of_keys = fetch_keys(replace(issuer, jwks_url=keys_at))
        self._endpoints = endpoints
        return keys, min(seconds, seconds_of_keys)


_registry: dict[str, PublishedProvider] = {}
_registry_lock = threading.Lock()


def published(provider: OidcProvider) -> PublishedProvider:
    """Return what a provider has published, kept for the life of the process."""
    with _registry_lock:
        found = _registry.get(provider.name)
        if found is None or found.provider != provider:
            found = _registry[provider.name] = PublishedProvider(provider)
        return found


def get_provider(name: str) -> OidcProvider:
    """Return a provider of the settings; raise NotFound."""
    for one in conf().oidc_providers:
        if one.name == name:
            return one
    raise NotFound("There is no such provider.")


def read_published(body: bytes, provider: OidcProvider) -> tuple[Endpoints, str]:
    """Return the endpoints and the address of the keys; raise FetchFailed.

    A document of another issuer is refused: its answers would be taken for this provider's.
    """
    try:
        found = read_json(body)
    except InvalidInput as error:
        raise FetchFailed("not_a_configuration") from error
    if not isinstance(found, dict) or found.get("issuer") != provider.issuer:
        raise FetchFailed("other_issuer")
    addresses = []
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        address = found.get(name)
        try:
            if not isinstance(address, str):
                raise FetchFailed("not_a_configuration")
            provider.url(address)
        except UrlError as error:
            raise FetchFailed(f"{name}_{error.code}") from error
        addresses.append(address)
    proofs = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    made = Endpoints(
        authorization=addresses[0],
        token=addresses[1],
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        client_proofs=tuple(one for one in proofs if isinstance(one, str))
        if isinstance(proofs, list)
        else (),
    )
    return made, addresses[2]


def shown_providers(place: str) -> list[dict[str, Any]]:
    """Return the buttons of the login page, which lead to the place afterwards."""
    after = f"?{urlencode({'next': place})}" if place else ""
    return [
        {
            "label": one.label,
            "url": reverse("dashboard:oidc_begin", args=[one.name]) + after,
        }
        for one in conf().oidc_providers
    ]
