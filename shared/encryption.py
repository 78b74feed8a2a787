"""Encryption at rest: AES-256-GCM, the only place that knows the layout of a sealed blob.

Used for payloads, headers, secrets and stored answers, in the database, in messages and in
the outcome stream. The context (``b"task:<uuid>"``) is authenticated with the text, so that a
blob copied to another row does not open. Layout: version, length of the key id, key id,
12 random bytes of nonce, ciphertext with its tag. Old keys stay in the configuration until
everything is sealed anew; random nonces are safe for about 2**32 blobs per key.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.conf import conf
from shared.exceptions import Conflict, PunctualError

VERSION = 1
_NONCE_BYTES = 12
_TAG_BYTES = 16
#: How much longer a sealed value is at most: with a key id of 255 bytes.
MOST_ADDED = 2 + 255 + _NONCE_BYTES + _TAG_BYTES


#: The message of an answer that cannot show payload and secrets.
CANNOT_BE_OPENED = (
    "The payload and the secrets cannot be opened: ENCRYPTION_KEYS does not have their key, or "
    "they were altered."
)


class DecryptionFailed(PunctualError):
    """Something sealed cannot be opened: no fault of the program, and no answer to be sent again.

    A conflict for who asks for it, until the key is back in the configuration.
    """

    code = "decryption_failed"
    status = 409


class CannotBeOpened(Conflict):
    """What a change or a run needs is sealed under a key that is not here, or was altered."""

    code = "decryption_failed"

    def __init__(self) -> None:
        super().__init__(CANNOT_BE_OPENED)


def seal(plaintext: bytes, context: bytes) -> bytes:
    """Encrypt under the active key; only :func:`open_sealed` with the same context opens it."""
    header, key = _active_key()
    nonce = os.urandom(_NONCE_BYTES)
    return header + nonce + _cipher(key).encrypt(nonce, plaintext, header + context)


def open_sealed(blob: bytes, context: bytes) -> bytes:
    """Return the plaintext; raise DecryptionFailed for a foreign, altered or unknown blob."""
    blob = bytes(blob)
    if len(blob) < 2 or blob[0] != VERSION:
        raise DecryptionFailed("This is not a sealed value of a known version.")
    header_length = 2 + blob[1]
    if len(blob) < header_length + _NONCE_BYTES + _TAG_BYTES:
        raise DecryptionFailed("The sealed value is cut off.")
    header, nonce = blob[:header_length], blob[header_length : header_length + _NONCE_BYTES]
    key = _key_named(header[2:])
    try:
        return _cipher(key).decrypt(nonce, blob[header_length + _NONCE_BYTES :], header + context)
    except InvalidTag as error:
        raise DecryptionFailed(
            "The sealed value was altered, or belongs to something else."
        ) from error


def seal_json(value: Any, context: bytes) -> bytes:
    """Encrypt a JSON value under the active key."""
    return seal(orjson.dumps(value), context)


def open_json(blob: bytes, context: bytes) -> Any:
    """Return the JSON value; raise DecryptionFailed as :func:`open_sealed` does."""
    return orjson.loads(open_sealed(blob, context))


def active_header() -> bytes:
    """Return what every value begins with that the active key seals."""
    return _active_key()[0]


def key_id_of(blob: bytes) -> str:
    """Return the id of the key that sealed the blob, to find blobs that still need an old key."""
    return bytes(blob[2 : 2 + blob[1]]).decode("utf-8", "replace")


def _active_key() -> tuple[bytes, bytes]:
    for key_id, key in conf().encryption_keys.items():
        return _header(key_id), key
    raise DecryptionFailed("ENCRYPTION_KEYS is empty: nothing can be sealed.")


def _key_named(raw: bytes) -> bytes:
    key_id = raw.decode("utf-8", "replace")
    key = conf().encryption_keys.get(key_id)
    if key is None:
        raise DecryptionFailed(
            f"The value was sealed under the key {key_id!r}, which ENCRYPTION_KEYS does not have."
        )
    return key


@lru_cache(maxsize=64)
def _header(key_id: str) -> bytes:
    raw = key_id.encode()
    return bytes((VERSION, len(raw))) + raw


# Setting up the key schedule costs more than sealing a small payload.
@lru_cache(maxsize=64)
def _cipher(key: bytes) -> AESGCM:
    return AESGCM(key)
