"""Networks that a caller may come from: read from text, compared, asked about an address.

A list without networks means every address. An IPv4 address in the form of IPv6 is the IPv4
address, as ``shared.client_address`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_address, ip_network

from shared.exceptions import FieldError, InvalidInput

Network = IPv4Network | IPv6Network

#: The most networks of one list.
MOST_NETWORKS = 50
#: No longer text is a network; without zones, which belong to one machine only.
_NETWORK = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:/[0-9]{1,3})?")
_MAPPED = IPv6Network("::ffff:0:0/96")


def read_network(text: str) -> Network:
    """Return the network of an address or CIDR; raise ValueError with a sentence."""
    if not _NETWORK.fullmatch(text):
        raise ValueError("Give an IPv4 or IPv6 address, or a network such as 203.0.113.0/24.")
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        message = "Give an IPv4 or IPv6 address, or a network such as 203.0.113.0/24."
        raise ValueError(message) from None
    if str(found.network_address) != str(ip_address(text.partition("/")[0])):
        raise ValueError(f"The address has bits beyond its prefix. Write {found}.")
    if isinstance(found, IPv6Network) and found.subnet_of(_MAPPED):
        return IPv4Network((int(found.network_address) & 0xFFFFFFFF, found.prefixlen - 96))
    return found


def read_networks(texts: Sequence[str], pointer: str = "#/addresses") -> list[str]:
    """Return the networks in their one spelling, each once; raise InvalidInput by place."""
    if len(texts) > MOST_NETWORKS:
        message = f"Give at most {MOST_NETWORKS} networks."
        raise InvalidInput([FieldError(pointer, "max_length", message)], message)
    found: dict[str, None] = {}
    errors = []
    for index, text in enumerate(texts):
        try:
            found[str(read_network(text.strip()))] = None
        except ValueError as error:
            errors.append(FieldError(f"{pointer}/{index}", "network_invalid", str(error)))
    if errors:
        raise InvalidInput(errors)
    return list(found)


def holds(networks: Iterable[str], address: str) -> bool:
    """Return whether the address is in one of the networks; an unknown address is in none."""
    networks = tuple(networks)
    if not networks:
        return True
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in _parsed(networks))


def is_within(inner: Iterable[str], outer: Iterable[str]) -> bool:
    """Return whether every address of the inner list is in the outer one."""
    inner, outer = tuple(inner), tuple(outer)
    if not outer:
        return True
    if not inner:
        return False
    four = list(collapse_addresses(one for one in _parsed(outer) if isinstance(one, IPv4Network)))
    six = list(collapse_addresses(one for one in _parsed(outer) if isinstance(one, IPv6Network)))
    return all(
        any(one.subnet_of(wider) for wider in four)
        if isinstance(one, IPv4Network)
        else any(one.subnet_of(wider) for wider in six)
        for one in _parsed(inner)
    )


@lru_cache(maxsize=1024)
def _parsed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(one) for one in networks)
