"""The name of a destination: one for all spellings of a host, the same at every door.

The host as :mod:`shared.hosts` spells it, with the port unless that is 80 or 443: limits, circuits
and pauses of ``example.com`` apply to calls over http and over https.
"""

from __future__ import annotations

from ipaddress import IPv6Address

from shared.addresses import origin_of
from shared.hosts import DEFAULT_PORTS, bracketed, read_host_port

_DEFAULT_PORTS = frozenset(DEFAULT_PORTS.values())


def name_of_url(url: str) -> str:
    """Return the name of the destination that a URL calls, '' where the URL has no host."""
    origin = origin_of(url)
    return "" if origin is None else destination_name(origin[1], origin[2])


def read_name(text: str) -> str:
    """Return the name that ``host`` or ``host:port`` spells; raise HostError for other text."""
    host, port = read_host_and_port(text)
    return destination_name(host, port)


def read_host_and_port(text: str) -> tuple[str, int | None]:
    """Return the host that the text spells, and its port, None where it has none; HostError."""
    _, host, port = read_host_port(text)
    return host, port


def destination_name(host: str, port: int | None) -> str:
    """Return the name of the destination at a host in its one spelling."""
    named = _folded(host)
    return named if port is None or port in _DEFAULT_PORTS else f"{named}:{port}"


def _folded(host: str) -> str:
    """Return the host in brackets where it needs them; IPv4 within IPv6 is IPv4."""
    if ":" not in host:
        return host
    mapped = IPv6Address(host).ipv4_mapped
    return bracketed(host) if mapped is None else str(mapped)
