"""Who may read ``/metrics``, by what the operator has set; a table that the tests go through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TOKEN = "a-token-of-a-scraper-0123456789abcdef"
NETWORK = "192.0.2.0/24"
INSIDE, OUTSIDE = "192.0.2.7", "198.51.100.9"

_BY_TOKEN = {"metrics_token": TOKEN}
_BY_NETWORK = {"metrics_networks": (NETWORK,)}
#: What is set -> the parts of the configuration.
SETTINGS: dict[str, Mapping[str, Any]] = {
    "closed": {},
    "`METRICS_TOKEN`": _BY_TOKEN,
    "`METRICS_NETWORKS`": _BY_NETWORK,
    "both": {**_BY_TOKEN, **_BY_NETWORK},
}
#: Who asks, without the token unless it is said.
SCRAPERS = (
    "without a credential",
    "a person who is signed in",
    "an owner's key",
    "the token",
    "the token in another case",
    "the token as a password",
    "another token",
    "from the networks",
    "from the networks with another token",
    "a webhook from the networks",
    "with an address of the networks in a header",
)


def answer(setting: str, scraper: str) -> int:
    """Return the status of an answer: closed doors are unknown, a token's door asks for it."""
    parts = SETTINGS[setting]
    if scraper == "the token" and "metrics_token" in parts:
        return 200
    is_inside = scraper in ("from the networks", "from the networks with another token")
    if is_inside and "metrics_networks" in parts:
        return 200
    return 401 if "metrics_token" in parts else 404
