"""This server's identity towards push services (VAPID, RFC 8292): one P-256 key.

``up`` makes the key once and keeps it in the data directory; VAPID_PRIVATE_KEY gives another.
Browsers subscribe under the public part, so a new key ends all subscriptions.
"""

from __future__ import annotations

import base64
import time
from email.utils import parseaddr

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from notifications.transports.errors import TransportError

#: Push services refuse a day; half of it leaves room for clocks that differ.
_TOKEN_SECONDS = 12 * 3600


def public_key() -> str:
    """Return the key that browsers subscribe with, base64url; empty when there is none."""
    raw = _raw_key()
    if not raw:
        return ""
    key = ec.derive_private_key(int.from_bytes(raw, "big"), ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).decode().rstrip("=")


def authorization(audience: str) -> str:
    """Return the Authorization header for the origin of a push service."""
    from py_vapid import Vapid02

    if not _raw_key():
        raise TransportError("VAPID_PRIVATE_KEY is not set, so no push can be sent.")
    signer = Vapid02.from_raw(settings.VAPID_PRIVATE_KEY.encode())
    address = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    claims = {
        "aud": audience,
        "exp": int(time.time()) + _TOKEN_SECONDS,
        "sub": f"mailto:{address}",
    }
    return str(signer.sign(claims)["Authorization"])


def _raw_key() -> bytes:
    text = str(settings.VAPID_PRIVATE_KEY)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
