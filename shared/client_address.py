"""The address that a request came from, read in one way for audit entries, limits and logs.

Behind a proxy the peer is the proxy. The web server replaces it by the address of
``X-Forwarded-For`` only where the peer is one of TRUSTED_PROXIES (``run_web``); from any other
peer it ignores the header.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Protocol

#: One customer's share of IPv6; within it an address is changed at will.
_IPV6_PREFIX = 64


class _HasMeta(Protocol):
    @property
    def META(self) -> Any: ...  # noqa: N802 - Django's name


def client_address(request: _HasMeta) -> str:
    """Return the caller's IP address; empty where there is none, or a proxy gave no valid one."""
    return _spelled(request.META.get("REMOTE_ADDR"))


def socket_address(scope: Mapping[str, Any]) -> str:
    """Return the address of a socket's caller, from its ASGI scope; empty where there is none."""
    return _spelled(_peer(scope))


def counted_address(request: _HasMeta) -> str:
    """Return the address that limits count: the caller's IPv4 address, or the /64 of its IPv6."""
    return _counted(request.META.get("REMOTE_ADDR"))


def counted_socket_address(scope: Mapping[str, Any]) -> str:
    """Return the same as :func:`counted_address`, from an ASGI scope."""
    return _counted(_peer(scope))


def _peer(scope: Mapping[str, Any]) -> str:
    return str((scope.get("client") or ("",))[0] or "")


@lru_cache(maxsize=4096)
def _counted(text: str | None) -> str:
    found = _parsed(text)
    if isinstance(found, IPv6Address):
        return str(ip_network((int(found), _IPV6_PREFIX), strict=False))
    return "" if found is None else str(found)


# A request asks several times, and callers call again.
@lru_cache(maxsize=4096)
def _spelled(text: str | None) -> str:
    found = _parsed(text)
    return "" if found is None else str(found)


def _parsed(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text or "")
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        # An IPv4 peer of a socket that takes both; a zone is of this machine only.
        return found.ipv4_mapped or IPv6Address(int(found))
    return found
