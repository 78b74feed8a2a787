"""Signs webhooks as Standard Webhooks 1.0.0 describes (HMAC-SHA256, ``v1``).

Called once per attempt by the run stage. During a rotation every valid secret signs, so that
receivers may change over at any time.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode
from binascii import b2a_base64
from collections.abc import Sequence
from functools import lru_cache

PREFIX = "whsec_"
#: Bounds of the specification.
_MIN_SECRET_BYTES, _MAX_SECRET_BYTES = 24, 64
#: Of SHA-256; and what HMAC adds to each byte of the key.
_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


def sign(secrets: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``; ``timestamp`` is in Unix seconds."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join([f"v1,{_digest(secret, signed)}" for secret in secrets])


def _digest(secret: bytes, signed: bytes) -> str:
    """Return the HMAC (RFC 2104) as base64."""
    inner, outer = _keyed(secret)
    inner, outer = inner.copy(), outer.copy()
    inner.update(signed)
    outer.update(inner.digest())
    return b2a_base64(outer.digest(), newline=False).decode()


# Setting up the key costs as much as signing a small body, and to copy an ``hmac`` twice as much
# as to copy the two hashes that it is made of.
@lru_cache(maxsize=256)
def _keyed(secret: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return the hashes that have read the key for inside and outside; copies go on from there."""
    if len(secret) > _BLOCK_BYTES:
        secret = hashlib.sha256(secret).digest()
    padded = secret.ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(padded.translate(_INNER)), hashlib.sha256(padded.translate(_OUTER))


def parse_secret(text: str) -> bytes:
    """Return the key inside a ``whsec_`` secret; ValueError (without the secret) if it is none."""
    if not text.startswith(PREFIX):
        raise ValueError(f"a signing secret starts with {PREFIX}")
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a signing secret is base64 after its prefix") from None
    if not _MIN_SECRET_BYTES <= len(secret) <= _MAX_SECRET_BYTES:
        raise ValueError(f"a signing secret has {_MIN_SECRET_BYTES}-{_MAX_SECRET_BYTES} bytes")
    return secret
