"""The secrets of an installation that a backup must carry, and what a restore does with them.

Without SECRET_KEY links in mails and addresses at the test receiver are void, without
ENCRYPTION_KEYS nothing sealed opens, without AUDIT_KEYS the audit log cannot be verified, without
the push key browsers get no notices. A backup does not carry the passwords of the embedded
servers: they belong to a data directory, not to the data.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

from django.conf import settings

from operations.backup.exceptions import Unfit
from shared.conf import conf

_VARIABLE = "ENCRYPTION_KEYS"


def current() -> dict[str, str]:
    """Return the secrets that are in use, wherever they come from."""
    return {
        "secret_key": settings.SECRET_KEY,
        "encryption_keys": _words(_keys()),
        "audit_keys": _words(conf().audit_keys),
        "vapid_private_key": settings.VAPID_PRIVATE_KEY,
    }


def key_ids() -> list[str]:
    """Return the ids of the encryption keys, the active one first."""
    return list(_keys())


def refuse_missing(secrets: Mapping[str, str]) -> None:
    """Raise Unfit when ENCRYPTION_KEYS is set here and lacks a key of the backup.

    The variable overrides the restored file, and data that the key sealed would not open.
    """
    if _VARIABLE not in os.environ and f"{_VARIABLE}_FILE" not in os.environ:
        return
    wanted = dict(word.split(":", 1) for word in secrets["encryption_keys"].split())
    here = {name: base64.b64encode(key).decode() for name, key in _keys().items()}
    missing = sorted(name for name, key in wanted.items() if here.get(name) != key)
    if missing:
        raise Unfit(
            f"{_VARIABLE} is set here and lacks the backup's key {', '.join(missing)}: data sealed "
            "with it would not open. Add it, or unset the variable; the backup brings its keys."
        )


def _words(keys: Mapping[str, bytes]) -> str:
    return " ".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in keys.items())


def _keys() -> dict[str, bytes]:
    return dict(conf().encryption_keys)
