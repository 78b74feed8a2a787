"""The secrets of a target: masked wherever a definition is shown, kept where the mask comes back.

Headers are not among them: they are answered as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.redaction import MASK

#: Part of a target -> its fields that no answer shows.
SECRET_FIELDS: dict[str, tuple[str, ...]] = {
    "auth": ("password", "token", "value", "client_secret"),
    "tls": ("client_key",),
    "proxy": ("password",),
}
#: Parts of a target whose values are all secret.
ALL_SECRET = ("environment",)


def mask_target(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target with its secrets masked; what is absent or null stays so.

    Parts without secrets are the target's own and not to be changed.
    """
    shown = dict(target)
    for part in (*SECRET_FIELDS, *ALL_SECRET):
        inside = shown.get(part)
        if isinstance(inside, dict):
            masked = {key: MASK for key in _secret_keys(part, inside) if inside[key] is not None}
            shown[part] = inside | masked
    return shown


def keep_masked(written: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was written with each mask replaced by the secret that is stored in its place.

    A mask where nothing is stored stays: validation refuses it.
    """
    kept = dict(written)
    for part in (*SECRET_FIELDS, *ALL_SECRET):
        inside, before = kept.get(part), stored.get(part)
        if isinstance(inside, Mapping) and isinstance(before, Mapping):
            found = {
                key: before[key]
                for key in _secret_keys(part, inside)
                if inside[key] == MASK and before.get(key) is not None
            }
            kept[part] = {**inside, **found}
    return kept


def _secret_keys(part: str, inside: Mapping[str, Any]) -> list[str]:
    if part in ALL_SECRET:
        return list(inside)
    return [key for key in SECRET_FIELDS[part] if key in inside]
