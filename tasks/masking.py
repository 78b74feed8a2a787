"""The secrets of a target: masked wherever a definition is shown, kept where the mask comes back.

Only this module defines which ones there are: fields of the authentication, the client's key and
the proxy's password, every variable of a command, and the headers that ``shared.http_headers``
calls secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from shared.http_headers import is_secret_header
from shared.redaction import MASK

#: Part of a target -> its fields that no answer shows.
SECRET_FIELDS: dict[str, tuple[str, ...]] = {
    "auth": ("password", "token", "value", "client_secret"),
    "tls": ("client_key",),
    "proxy": ("password",),
}
#: Parts of a target whose values are all secret.
ALL_SECRET = ("environment",)
_HEADERS = "headers"
_PARTS = (*SECRET_FIELDS, *ALL_SECRET, _HEADERS)


class Place(NamedTuple):
    """The place of a secret in a target: the part and the key in it."""

    part: str
    key: str


def mask_target(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target with its secrets masked; absent and null ones stay so.

    Parts without secrets are the target's own; callers must not change them.
    """
    shown = dict(target)
    for part in _PARTS:
        inside = shown.get(part)
        if isinstance(inside, Mapping):
            masked = {key: MASK for key in _secret_keys(part, inside) if inside[key] is not None}
            shown[part] = {**inside, **masked} if masked else inside
    return shown


def masked_places(target: Mapping[str, Any]) -> Iterator[Place]:
    """Yield each place where the target holds a mask in place of a secret."""
    for part in _PARTS:
        inside = target.get(part)
        if isinstance(inside, Mapping):
            yield from (
                Place(part, key) for key in _secret_keys(part, inside) if inside[key] == MASK
            )


def keep_masked(
    written: Mapping[str, Any], stored: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Place]]:
    """Return the target with each mask replaced by the secret stored in its place, and the places.

    A mask without a stored secret stays: validation refuses it.
    """
    kept = dict(written)
    places = []
    for place in masked_places(written):
        secret = _stored_in(stored, place)
        if secret is not None:
            kept[place.part] = {**kept[place.part], place.key: secret}
            places.append(place)
    return kept, places


def _stored_in(stored: Mapping[str, Any], place: Place) -> Any:
    inside = stored.get(place.part)
    if not isinstance(inside, Mapping):
        return None
    if place.part != _HEADERS:
        return inside.get(place.key)
    # Names of headers ignore case.
    wanted = place.key.lower()
    return next((value for name, value in inside.items() if name.lower() == wanted), None)


def _secret_keys(part: str, inside: Mapping[str, Any]) -> list[str]:
    if part in ALL_SECRET:
        return list(inside)
    if part == _HEADERS:
        return [name for name in inside if is_secret_header(name)]
    return [key for key in SECRET_FIELDS[part] if key in inside]
