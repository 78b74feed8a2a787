"""Hosts in their one spelling, in which they are compared, counted and sent.

Names follow IDNA 2008 after the mapping of UTS 46 (non-transitional: ß stays ß), addresses are read
in every spelling that ``inet_aton`` knows. ``shared.addresses`` judges what may be called.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

Address = IPv4Address | IPv6Address

#: Default port of each scheme; a URL is the same with it and without a port.
DEFAULT_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{0,16}))?")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_NAME = 253
_HIGHEST_PORT = 65535
_ENCODED = "xn--"
_NO_NAME = "The host of the URL is not a valid name."
_NO_ADDRESS = "The host of the URL is not a valid address."


class HostError(ValueError):
    """The text names no host; ``message`` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class HostPort(NamedTuple):
    """A host and the port behind it, None where none is written."""

    #: The address when the host was written as one.
    literal: Address | None
    #: A lower-case ASCII name, or the canonical text of ``literal`` without brackets.
    host: str
    port: int | None


@lru_cache(maxsize=4096)
def read_host_port(written: str) -> HostPort:
    """Return host and port of ``host``, ``host:`` or ``host:port``; raise HostError without."""
    if "@" in written:
        raise HostError("The URL must not hold credentials.")
    parts = _AUTHORITY.fullmatch(written)
    if parts is None:
        raise HostError("The URL has no valid host and port.")
    literal, name = _parse_host(parts[1])
    port = int(parts[2]) if parts[2] else None
    if port is not None and not 1 <= port <= _HIGHEST_PORT:
        raise HostError("The port of the URL must be 1-65535.")
    return HostPort(literal, name if literal is None else str(literal), port)


def bracketed(host: str) -> str:
    """Return the host as it is written before a port."""
    return f"[{host}]" if ":" in host else host


def _parse_host(written: str) -> tuple[Address | None, str]:
    """Return (address, "") for every spelling of an address, else (None, ASCII name)."""
    if written.startswith("["):
        return _parse_v6(written[1:-1]), ""
    if "%" in written:
        raise HostError("The host of the URL must not be percent-encoded.")
    host = _to_ascii(written).removesuffix(".")
    # After the mapping: full-width digits and stops spell addresses, too.
    if _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
        return _parse_numeric(host), ""
    if len(host) > _LONGEST_NAME or not _NAME.fullmatch(host):
        raise HostError(_NO_NAME)
    if _ENCODED in host:
        _check_encoded(host)
    return None, host


def _parse_v6(text: str) -> IPv6Address:
    try:
        return IPv6Address(text)
    except ValueError:
        raise HostError(_NO_ADDRESS) from None


def _to_ascii(host: str) -> str:
    if host.isascii():
        return host.lower()
    # Its tables take 2 MiB, and few hosts need them.
    import idna

    try:
        mapped = idna.uts46_remap(host, std3_rules=False, transitional=False)
        labels = [
            label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")
        ]
    except idna.InvalidCodepoint as error:
        message = f"{_NO_NAME[:-1]}: IDNA 2008 has no {_codepoint(error)}; try its xn-- form."
        raise HostError(message) from None
    except idna.IDNAError:
        raise HostError(_NO_NAME) from None
    return ".".join(labels)


def _codepoint(error: Exception) -> str:
    """Return the codepoint that the error names; the rest of its words repeats the host."""
    found = re.search(r"U\+[0-9A-F]{4,6}", str(error))
    return found[0] if found else "such character"


def _check_encoded(host: str) -> None:
    """Refuse labels that begin with ``xn--`` and encode no text.

    This allows more than a name in Unicode may hold: registries have sold names with emoji.
    """
    import idna

    for label in host.split("."):
        if not label.startswith(_ENCODED):
            continue
        try:
            text = label.removeprefix(_ENCODED).encode().decode("punycode")
            is_the_same = idna.uts46_remap(text, std3_rules=False, transitional=False) == text
            idna.check_hyphen_ok(text)
            again = text.encode("punycode").decode()
        except (UnicodeError, idna.IDNAError):
            raise HostError(_NO_NAME) from None
        if text.isascii() or not is_the_same or _ENCODED + again != label:
            raise HostError(_NO_NAME)


def _parse_numeric(host: str) -> IPv4Address:
    """Read what ``inet_aton`` would: one to four parts, decimal, octal or hexadecimal."""
    parts = host.split(".")
    invalid = HostError(_NO_ADDRESS)
    if len(parts) > 4:
        raise invalid
    try:
        numbers = [_parse_aton_part(part) for part in parts]
    except ValueError:
        raise invalid from None
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        raise invalid
    return IPv4Address(sum(number << 24 - 8 * place for place, number in enumerate(numbers)) + last)


def _parse_aton_part(part: str) -> int:
    if not _NUMERIC_LABEL.fullmatch(part) or len(part) > 16:
        raise ValueError(part)
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") else int(part)
