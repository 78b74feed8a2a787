"""The bounds that a definition is checked against; the deployment sets some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from shared.addresses import AllowList
from shared.conf import conf

NAME_LENGTH = 200
URL_LENGTH = 2048
LABELS = 32
LABEL_KEY_LENGTH = 63
LABEL_VALUE_LENGTH = 200
HEADERS = 64
HEADER_BYTES = 16 * 1024
DEPENDENCIES = 100
CALENDARS = 20
TEN_YEARS_SECONDS = 10 * 366 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Limits:
    """What differs between deployments and tenants."""

    payload_bytes: int
    allow_list: AllowList
    allowed_low_ports: tuple[int, ...] = ()


def current_limits() -> Limits:
    """Return the limits of this deployment."""
    knobs = conf()
    return Limits(
        payload_bytes=knobs.payload_bytes,
        allow_list=_allow_list(knobs.webhook_allowed_networks),
        allowed_low_ports=knobs.webhook_allowed_ports,
    )


@lru_cache(maxsize=8)
def _allow_list(words: tuple[str, ...]) -> AllowList:
    return AllowList(words)
