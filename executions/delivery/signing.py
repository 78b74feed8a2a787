"""Signs webhooks as Standard Webhooks 1.0.0 describes (HMAC-SHA256, ``v1``).

Called once per attempt by the run stage. During a rotation every valid secret signs, so that
receivers may change over at any time.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache

PREFIX = "whsec_"
#: Bounds of the specification.
_MIN_SECRET_BYTES, _MAX_SECRET_BYTES = 24, 64


def sign(secrets: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``; ``timestamp`` is in Unix seconds."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(["v1," + b64encode(_digest(secret, signed)).decode() for secret in secrets])


def _digest(secret: bytes, signed: bytes) -> bytes:
    mac = _keyed(secret).copy()
    mac.update(signed)
    return mac.digest()


# Setting up the key costs as much as signing a small body.
@lru_cache(maxsize=256)
def _keyed(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod="sha256")


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
