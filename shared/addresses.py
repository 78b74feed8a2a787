"""Which addresses and URLs an outgoing request may name; free of any domain word.

Callers: validation of targets on creation, the address guard when a connection is opened, and
every other transport that talks to a place a user named. A URL is parsed once, here, and only
the parsed parts are ever sent, so that no second parser can read the same string differently.
``ipaddress.is_global`` is not used: it is true for NAT64, 6to4, fec0::/10 and others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Network,
    ip_network,
)
from typing import Any
from urllib.parse import quote

from shared.hosts import DEFAULT_PORTS, Address, HostError, bracketed, read_host_port

Network = IPv4Network | IPv6Network

__all__ = [
    "Address",
    "AllowList",
    "TargetUrl",
    "UrlError",
    "as_sent",
    "classify",
    "host_of",
    "origin_of",
    "parse_target_url",
]

MAX_URL_LENGTH = 2048

#: The first network that holds the address gives the reason, so narrow ones stand first.
_DENIED_V4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("169.254.169.254/32", "metadata"),
        ("169.254.170.2/32", "metadata"),
        ("100.100.100.200/32", "metadata"),
        ("168.63.129.16/32", "metadata"),
        ("192.0.0.192/32", "metadata"),
        ("0.0.0.0/8", "reserved"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "cgnat"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link_local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "6to4"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_DENIED_V6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("fd00:ec2::254/128", "metadata"),
        ("fd20:ce::254/128", "metadata"),
        ("::/128", "reserved"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "ipv4_mapped"),
        ("::ffff:0:0:0/96", "ipv4_translated"),
        ("::/96", "ipv4_compatible"),
        ("64:ff9b::/96", "nat64"),
        ("64:ff9b:1::/48", "nat64"),
        ("2001::/32", "teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "reserved"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link_local"),
        ("fec0::/10", "site_local"),
        ("ff00::/8", "multicast"),
    )
)
#: Outside of this nothing is assigned to the public (5f00::/16, 100::/64, ...).
_PUBLIC_V6 = IPv6Network("2000::/3")
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})


def classify(ip: Address) -> str | None:
    """Return why the address is not public, or None when it is."""
    if isinstance(ip, IPv4Address):
        return next((reason for network, reason in _DENIED_V4 if ip in network), None)
    if ip.scope_id is not None:
        return "link_local"
    for network, reason in _DENIED_V6:
        if ip in network:
            return reason
    if ip not in _PUBLIC_V6:
        return "reserved"
    if int(ip) >> 32 & 0xFFFFFFFF in _ISATAP_MARKS:
        return "isatap"
    return None


class AllowList:
    """Networks, each with all its ports or one, that may be reached although not public."""

    __slots__ = ("_rules",)

    def __init__(self, words: Iterable[str] = ()) -> None:
        """Parse ``CIDR``, ``CIDR:port`` and ``[CIDR]:port``; ValueError names a bad word."""
        self._rules = tuple(_parse_allow_word(word) for word in words)

    def allows(self, ip: Address, port: int) -> bool:
        """Return whether the operator lists this address for this port."""
        return any(
            allowed in (None, port) and ip.version == network.version and ip in network
            for network, allowed in self._rules
        )

    def names_port(self, ip: Address, port: int) -> bool:
        """Return whether a rule lists this address together with exactly this port."""
        return any(
            allowed == port and ip.version == network.version and ip in network
            for network, allowed in self._rules
        )


_BRACKETED_WORD = re.compile(r"\[([0-9A-Fa-f:./]+)\](?::([0-9]{1,5}))?")
_V4_WORD = re.compile(r"([0-9./]+)(?::([0-9]{1,5}))?")


def _parse_allow_word(word: str) -> tuple[Network, int | None]:
    match = _BRACKETED_WORD.fullmatch(word) or _V4_WORD.fullmatch(word)
    text, port_text = match.groups() if match else (word, None)
    port = int(port_text) if port_text is not None else None
    if port is not None and not 1 <= port <= 65535:
        raise ValueError(f"{word!r} has a port outside 1-65535")
    try:
        return ip_network(text), port
    except ValueError as error:
        raise ValueError(f"{word!r} is neither CIDR nor CIDR:port: {error}") from error


class UrlError(ValueError):
    """The URL may not be called; ``code`` is url_invalid, address_forbidden or port_forbidden."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class TargetUrl:
    """The parts of a URL exactly as they are sent."""

    scheme: str
    #: A lower-case ASCII name, or the canonical text of ``literal`` without brackets.
    host: str
    port: int
    #: The value of the Host header.
    authority: str
    path_and_query: str
    #: The address when the host was written as one, in any spelling.
    literal: Address | None


def parse_target_url(
    url: str, allow: AllowList, allowed_low_ports: tuple[int, ...] = ()
) -> TargetUrl:
    """Return the parts to send, or raise UrlError; answers are kept, since URLs repeat."""
    return _parse_target_url(url, allow, allowed_low_ports)


_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)((?:\?[^#]*)?)(?:#.*)?", re.IGNORECASE)
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
#: Joiners of letters and emoji, and the tags of flags: without them the text means another one.
_JOINERS = frozenset("\u200c\u200d" + "".join(map(chr, range(0xE0020, 0xE0080))))
#: The same, and the backslash, in ASCII.
_BAD_ASCII = re.compile(r"[\x00-\x20\x7f\\]")
#: Everything of ASCII that may stand in a request target; the rest is percent-encoded.
_TARGET_SAFE = "!$%&'()*+,-./:;=?@[]_~|^"


@lru_cache(maxsize=4096)
def _parse_target_url(url: str, allow: AllowList, allowed_low_ports: tuple[int, ...]) -> TargetUrl:
    _refuse_bad_characters(url)
    match = _URL.fullmatch(url)
    if match is None:
        raise UrlError("url_invalid", "The URL must start with http:// or https://.")
    origin = _parse_origin(match[1].lower(), match[2], allow, allowed_low_ports)
    return TargetUrl(path_and_query=_request_target(match[3], match[4]), **origin)


# Few hosts have many paths.
@lru_cache(maxsize=4096)
def _parse_origin(
    scheme: str, written: str, allow: AllowList, allowed_low_ports: tuple[int, ...]
) -> dict[str, Any]:
    """Return the parts of a target's URL before its path; callers must not change the dict."""
    try:
        literal, host, port = read_host_port(written)
    except HostError as error:
        raise UrlError("url_invalid", error.message) from None
    port = port or DEFAULT_PORTS[scheme]
    _check_port(port, literal, allow, allowed_low_ports)
    if literal is not None and classify(literal) and not allow.allows(literal, port):
        raise UrlError("address_forbidden", "The address of the URL is not public.")
    return {
        "scheme": scheme,
        "host": host,
        "port": port,
        "authority": _authority(scheme, host, port),
        "literal": literal,
    }


def _authority(scheme: str, host: str, port: int) -> str:
    named = bracketed(host)
    return named if port == DEFAULT_PORTS[scheme] else f"{named}:{port}"


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port that the URL is sent to, each in its one spelling.

    None where it has none. This does not check whether they may be called.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return None
    scheme = match[1].lower()
    try:
        found = read_host_port(match[2])
    except HostError:
        return None
    return scheme, found.host, found.port or DEFAULT_PORTS[scheme]


def written_origin(url: str) -> str:
    """Return the origin of the URL as text; '' where it has none.

    The port is left out where it is the scheme's. Nothing in it is from the user information, the
    path or what follows.
    """
    origin = origin_of(url)
    return "" if origin is None else f"{origin[0]}://{_authority(*origin)}"


def host_of(url: str) -> str:
    """Return the host that the URL is sent to, in its one spelling; '' where it has none."""
    origin = origin_of(url)
    return "" if origin is None else origin[1]


def as_sent(url: str) -> str:
    """Return the URL in the spelling in which it is sent; as it is where it cannot be sent."""
    match, origin = _URL.fullmatch(url), origin_of(url)
    if match is None or origin is None:
        return url
    return f"{origin[0]}://{_authority(*origin)}{_request_target(match[3], match[4])}"


def _request_target(path: str, query: str) -> str:
    return quote((path or "/") + query, safe=_TARGET_SAFE)


def _refuse_bad_characters(url: str) -> None:
    if len(url) > MAX_URL_LENGTH:
        raise UrlError("url_invalid", f"The URL is longer than {MAX_URL_LENGTH} characters.")
    if url.isascii():
        bad = _BAD_ASCII.search(url) is not None
    else:
        bad = "\\" in url or any(
            unicodedata.category(char) in _FORBIDDEN_CATEGORIES and char not in _JOINERS
            for char in url
        )
    if bad:
        raise UrlError("url_invalid", "The URL holds white space, a backslash or a control.")


def _check_port(
    port: int, literal: Address | None, allow: AllowList, allowed_low_ports: tuple[int, ...]
) -> None:
    if port >= 1024 or port in (80, 443) or port in allowed_low_ports:
        return
    if literal is None or not allow.names_port(literal, port):
        raise UrlError("port_forbidden", f"Port {port} is not allowed.")
