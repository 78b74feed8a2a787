"""How a target is reached where the default way will not do: TLS settings and a proxy of its own.

Made once per definition. The identity of a route is part of the key of a kept connection, so that
no two tenants, client certificates or proxies ever share one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url


@dataclass(frozen=True, slots=True)
class Tls:
    """The authorities to trust and the certificate to show; PEM texts."""

    verify: bool = True
    #: In place of the system's authorities.
    ca_certificates: str | None = field(default=None, repr=False)
    client_certificate: str | None = field(default=None, repr=False)
    client_key: str | None = field(default=None, repr=False)

    @property
    def is_default(self) -> bool:
        """Whether the system's authorities judge every server, and no certificate is shown."""
        return self == _DEFAULT_TLS

    def digest(self) -> str:
        """Return a text that only the same settings have."""
        return _digest(
            [self.verify, self.ca_certificates, self.client_certificate, self.client_key]
        )


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that opens tunnels (CONNECT)."""

    url: TargetUrl
    #: The value of Proxy-Authorization.
    authorization: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """TLS settings and proxy of one tenant's target."""

    tenant: str
    tls: Tls
    proxy: Proxy | None
    identity: str

    def elsewhere(self) -> Route | None:
        """Return the route to a host that the target only named: its token endpoint, a redirect.

        It goes through the same proxy and trusts the same authorities, but shows no client
        certificate and is always verified.
        """
        return _route(self.tenant, Tls(ca_certificates=self.tls.ca_certificates), self.proxy)


_DEFAULT_TLS = Tls()


def read_route(
    target: Mapping[str, Any], tenant: str, allow: AllowList, allowed_ports: tuple[int, ...]
) -> Route | None:
    """Return the route of a target in normal form, None for the default way.

    UrlError when the proxy's URL may not be called.
    """
    tls, proxy = target.get("tls"), target.get("proxy")
    if tls is None and proxy is None:
        return None
    settings = tls or {}
    return _route(
        tenant,
        Tls(
            verify=settings.get("verify", True),
            ca_certificates=settings.get("ca_certificates"),
            client_certificate=settings.get("client_certificate"),
            client_key=settings.get("client_key"),
        ),
        None if proxy is None else _proxy(proxy, allow, allowed_ports),
    )


def _route(tenant: str, tls: Tls, proxy: Proxy | None) -> Route | None:
    if tls.is_default and proxy is None:
        return None
    way = None if proxy is None else [proxy.url.host, proxy.url.port, proxy.authorization]
    return Route(tenant, tls, proxy, _digest([tenant, tls.digest(), way]))


def _proxy(proxy: Mapping[str, Any], allow: AllowList, allowed_ports: tuple[int, ...]) -> Proxy:
    url = parse_target_url(proxy["url"], allow, allowed_ports)
    if url.scheme != "http":
        raise UrlError("url_invalid", "A proxy is reached over http; TLS goes through it.")
    if proxy.get("username") is None:
        return Proxy(url)
    pair = f"{proxy['username']}:{proxy.get('password') or ''}".encode()
    return Proxy(url, "Basic " + base64.b64encode(pair).decode())


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()
