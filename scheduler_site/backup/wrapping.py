"""Secrets under a passphrase: scrypt makes the key, AES-256-GCM seals.

The context, which is the manifest, is authenticated with the secrets: whoever opens them knows
that nobody has changed what the manifest says, and with it the checksum of the dump.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from shared.exceptions import PunctualError

#: Shorter passphrases are guessed.
SHORTEST_PASSPHRASE = 12
_COST = 2**16
#: 128 MB of memory; a file that asks for more than four times that is none of ours.
_HIGHEST_COST = 2**19
_BLOCK_SIZE, _PARALLEL = 8, 1
_FORM = "scrypt+aes-256-gcm"


class WrongPassphrase(PunctualError):
    """The secrets do not open: the passphrase is another one, or the manifest was changed."""

    code = "wrong_passphrase"
    status = 409


def wrap(secrets: dict[str, str], passphrase: str, context: bytes) -> bytes:
    """Return the secrets sealed, as a JSON document that says how."""
    salt, nonce = os.urandom(16), os.urandom(12)
    key = _key(passphrase, salt, _COST)
    return orjson.dumps(
        {
            "form": _FORM,
            "cost": _COST,
            "salt": _text(salt),
            "nonce": _text(nonce),
            "sealed": _text(AESGCM(key).encrypt(nonce, orjson.dumps(secrets), context)),
        }
    )


def unwrap(wrapped: bytes, passphrase: str, context: bytes) -> dict[str, str]:
    """Return the secrets; raise WrongPassphrase when they do not open."""
    try:
        stored: dict[str, Any] = orjson.loads(wrapped)
        if stored["form"] != _FORM or not 2 <= stored["cost"] <= _HIGHEST_COST:
            raise WrongPassphrase("The secrets are sealed in a way that this version cannot open.")
        salt, nonce, sealed = (_bytes(stored[name]) for name in ("salt", "nonce", "sealed"))
        key = _key(passphrase, salt, stored["cost"])
        found: dict[str, str] = orjson.loads(AESGCM(key).decrypt(nonce, sealed, context))
    except (InvalidTag, ValueError, KeyError, TypeError, binascii.Error) as error:
        raise WrongPassphrase("The passphrase does not open the secrets of this backup.") from error
    return found


def _key(passphrase: str, salt: bytes, cost: int) -> bytes:
    kdf = Scrypt(salt=salt, length=32, n=cost, r=_BLOCK_SIZE, p=_PARALLEL)
    return kdf.derive(passphrase.encode())


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)
