"""The part of the path below which the built-in test receiver answers one tenant alone.

Derived from the deployment's secret and the tenant's id: the receiver recognises segments without
a database, and the web process writes them into examples. With a segment its holder can send
requests as the tenant's webhooks do, and can read nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from uuid import UUID

_PURPOSE = b"punctual test receiver"
_ID_BYTES, _CHECK_BYTES = 14, 6
#: 20 bytes in base 32: no character of it is changed by a URL, a file name or upper case.
SEGMENT = re.compile(r"[a-z2-7]{32}")


def key_of(secret_key: str) -> bytes:
    """Return the key of the segments; processes with the same SECRET_KEY have the same."""
    return hmac.digest(secret_key.encode(), _PURPOSE, hashlib.sha256)


def segment_of(key: bytes, tenant_id: UUID) -> str:
    """Return the tenant's segment."""
    found = hmac.digest(key, b"tenant:" + tenant_id.bytes, hashlib.sha256)[:_ID_BYTES]
    return base64.b32encode(found + _check_of(key, found)).decode().lower()


def is_segment(key: bytes, text: str) -> bool:
    """Return whether the text is the segment of any tenant."""
    if not SEGMENT.fullmatch(text):
        return False
    given = base64.b32decode(text.upper())
    found, check = given[:_ID_BYTES], given[_ID_BYTES:]
    return hmac.compare_digest(check, _check_of(key, found))


def _check_of(key: bytes, found: bytes) -> bytes:
    return hmac.digest(key, b"check:" + found, hashlib.sha256)[:_CHECK_BYTES]
