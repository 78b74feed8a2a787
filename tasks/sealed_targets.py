"""Which parts of a target are sealed, and how they leave its readable part and come back.

A URL holds secrets: tokens of chat services, signatures of presigned URLs. So do arguments of
commands. Of a URL only the origin stays readable, which no process needs for a call: a version
without a readable URL can never be called at a wrong one by a process that does not know this form.
Versions from before, and of tenants whose operator has not yet run ``keys reseal``, hold URL and
arguments in their readable part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shared.addresses import written_origin
from shared.named_secrets.references import names_of

#: In the readable part of a target: scheme, host and port of its URL.
ORIGIN = "origin"
#: In the readable part of a target: the named secrets that its sealed part uses.
NAMED = "named_secrets"
_ALWAYS_SEALED = ("headers", "auth", "tls", "proxy", "environment", "steps")
#: Fields that older versions of the program neither seal nor look for in the sealed part.
SEALED_LATER = ("url", "arguments")
_SEALED = (*_ALWAYS_SEALED, *SEALED_LATER)


class Parts(NamedTuple):
    """A target in two parts: what is stored in clear, and what is sealed."""

    plain: dict[str, Any]
    secret: dict[str, Any]


def split(target: Mapping[str, Any], *, whole: bool) -> Parts:
    """Return the parts of a target; they share with it. Without ``whole`` as older versions did."""
    plain = dict(target)
    secret = {key: plain.pop(key) for key in _ALWAYS_SEALED if key in plain}
    # In clear, so that dispatch knows which ones to send along.
    if names := names_of(target):
        plain[NAMED] = names
    return _closed(plain, secret) if whole else Parts(plain, secret)


def is_open(plain: Mapping[str, Any]) -> bool:
    """Return whether a stored readable part of a target holds what belongs into the sealed one."""
    return any(key in plain for key in SEALED_LATER)


def closed(plain: Mapping[str, Any], secret: Mapping[str, Any]) -> Parts:
    """Return the parts that :func:`split` makes of a target which was stored in the older form."""
    return _closed(dict(plain), dict(secret))


def joined(target: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """Return a target from its readable part, with all keys, and its opened part.

    Where that could not be opened and is empty, the URL is its origin.
    """
    found = dict(target)
    found.pop(NAMED, None)
    origin = found.pop(ORIGIN, None)
    if origin is not None and "url" not in secret:
        found["url"] = origin
    found |= {key: secret[key] for key in _SEALED if key in secret}
    return found


def _closed(plain: dict[str, Any], secret: dict[str, Any]) -> Parts:
    for key in SEALED_LATER:
        if key in plain:
            secret[key] = plain.pop(key)
    if isinstance(url := secret.get("url"), str):
        plain[ORIGIN] = written_origin(url)
    return Parts(plain, secret)
