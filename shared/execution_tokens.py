"""Tokens with which a receiver or a leasing worker ends the execution that it was handed.

A token proves that Punctual handed out this execution under this fencing token. It names no
holder and is stored nowhere. It is made with a key derived from the active encryption key and
verified with the derived keys of all known ones, so that a rotation ends no job.
"""

from __future__ import annotations

import base64
import hmac
import re
from functools import lru_cache

from shared.conf import conf
from shared.encryption import DecryptionFailed

_LABEL = b"punctual execution token v1"
_FORM = re.compile(r"(0|[1-9][0-9]{0,18})\.([A-Za-z0-9_-]{43})", re.ASCII)


def make(execution_id: str, fencing_token: int) -> str:
    """Return the token: ``<fencing token>.<base64url>``; raise DecryptionFailed without a key."""
    for key in conf().encryption_keys.values():
        return f"{fencing_token}.{_proof(key, execution_id, fencing_token)}"
    raise DecryptionFailed("ENCRYPTION_KEYS is empty: no execution token can be made.")


def verify(token: str, execution_id: str) -> int | None:
    """Return the fencing token that the token was made for, or None when it is not valid."""
    found = _FORM.fullmatch(token)
    if found is None:
        return None
    fencing_token = int(found[1])
    valid = False
    for key in conf().encryption_keys.values():
        expected = _proof(key, execution_id, fencing_token)
        valid |= hmac.compare_digest(expected, found[2])
    return fencing_token if valid else None


def _proof(key: bytes, execution_id: str, fencing_token: int) -> str:
    signed = f"{execution_id.lower()}.{fencing_token}".encode()
    digest = hmac.digest(_derived(key), signed, "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@lru_cache(maxsize=64)
def _derived(key: bytes) -> bytes:
    """Return a key of its own for this use: one key never serves two."""
    return hmac.digest(key, _LABEL, "sha256")
