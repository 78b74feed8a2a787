"""Encryption at rest: AES-256-GCM, the only place that knows the layout of a sealed blob.

Used for payloads, headers, secrets and stored answers, in the database, in messages and in
the outcome stream. The context names row and tenant and is authenticated with the text, so that a
blob copied to another row or tenant does not open. Two layouts:

- 2: under a tenant's data key: version, 16, id of the data key, 16 bytes of salt, nonce,
  ciphertext. A key derived from the data key and the salt seals (see ``shared.data_keys``).
- 1: under the deployment's key, which wraps data keys too: version, length of the key id, key id,
  nonce, ciphertext. What no tenant owns has it, and what an older version has stored.

The nonce has 12 random bytes, the ciphertext ends with its tag.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared import data_keys
from shared.conf import conf
from shared.exceptions import Conflict, PunctualError
from shared.sealing_contexts import Context

VERSION = 1
#: First bytes of sealed values.
VERSIONS = (VERSION, data_keys.VERSION)
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEADER_OF_TENANT = 18
_NONCE_OF_TENANT = _HEADER_OF_TENANT + data_keys.SALT_BYTES
_TEXT_OF_TENANT = _NONCE_OF_TENANT + _NONCE_BYTES
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


def seal(plaintext: bytes, context: Context | bytes) -> bytes:
    """Encrypt under the tenant's data key; only the same context opens it.

    Under the deployment's key where the context has no tenant, or the tenant no data key yet. Bytes
    are a context without a tenant.
    """
    context = _context(context)
    key = None if context.tenant is None else data_keys.active_key(context.tenant)
    nonce = os.urandom(_NONCE_BYTES)
    if key is None:
        header, secret = _active_key()
        return header + nonce + _cipher(secret).encrypt(nonce, plaintext, header + context.label)
    salt = key.salt()
    bound = _bound(key, salt, context)
    return key.header + salt + nonce + data_keys.cipher(key, salt).encrypt(nonce, plaintext, bound)


def open_sealed(blob: bytes, context: Context | bytes) -> bytes:
    """Return the plaintext; raise DecryptionFailed for a foreign, altered or unknown blob."""
    blob, context = bytes(blob), _context(context)
    if len(blob) < 2 or blob[0] not in VERSIONS:
        raise DecryptionFailed("This is not a sealed value of a known version.")
    header_length = 2 + blob[1]
    if blob[0] == data_keys.VERSION:
        return _open_of_tenant(blob, context)
    if len(blob) < header_length + _NONCE_BYTES + _TAG_BYTES:
        raise DecryptionFailed("The sealed value is cut off.")
    header, nonce = blob[:header_length], blob[header_length : header_length + _NONCE_BYTES]
    key = _key_named(header[2:])
    text = blob[header_length + _NONCE_BYTES :]
    return _decrypted(_cipher(key), nonce, text, header + context.label)


def _open_of_tenant(blob: bytes, context: Context) -> bytes:
    if len(blob) < _TEXT_OF_TENANT + _TAG_BYTES or blob[1] != 16:
        raise DecryptionFailed("The sealed value is cut off.")
    header, salt = blob[:_HEADER_OF_TENANT], blob[_HEADER_OF_TENANT:_NONCE_OF_TENANT]
    key = data_keys.key_of(header)
    if key is None:
        raise DecryptionFailed(
            f"The value was sealed under the data key {key_id_of(blob)}, which was removed or has "
            "not arrived."
        )
    if key.tenant != context.tenant:
        raise DecryptionFailed("The sealed value belongs to something else: to another tenant.")
    nonce, text = blob[_NONCE_OF_TENANT:_TEXT_OF_TENANT], blob[_TEXT_OF_TENANT:]
    cipher = data_keys.cipher(key, salt)
    return _decrypted(cipher, nonce, text, _bound(key, salt, context))


def _context(given: Context | bytes) -> Context:
    return Context(given) if isinstance(given, bytes) else given


def _bound(key: data_keys.DataKey, salt: bytes, context: Context) -> bytes:
    return b"%b%b%b:%b" % (key.header, salt, key.tenant.encode(), context.label)


def _decrypted(cipher: AESGCM, nonce: bytes, text: bytes, bound: bytes) -> bytes:
    try:
        return cipher.decrypt(nonce, text, bound)
    except InvalidTag as error:
        raise DecryptionFailed(
            "The sealed value was altered, or belongs to something else."
        ) from error


def seal_json(value: Any, context: Context | bytes) -> bytes:
    """Encrypt a JSON value as :func:`seal` does."""
    return seal(orjson.dumps(value), context)


def open_json(blob: bytes, context: Context | bytes) -> Any:
    """Return the JSON value; raise DecryptionFailed as :func:`open_sealed` does."""
    return orjson.loads(open_sealed(blob, context))


def active_header() -> bytes:
    """Return what every value begins with that the deployment's active key seals."""
    return _active_key()[0]


def active_key_id() -> str:
    """Return the id of the deployment's active key; '' without one."""
    return next(iter(conf().encryption_keys), "")


def is_under_data_key(blob: bytes) -> bool:
    """Return whether a tenant's data key has sealed the blob, and not the deployment's key."""
    return blob[:1] == bytes((data_keys.VERSION,))


def key_id_of(blob: bytes) -> str:
    """Return the id of the key that sealed the blob, to find blobs that still need an old key."""
    if is_under_data_key(blob) and len(blob) >= _HEADER_OF_TENANT:
        return str(UUID(bytes=bytes(blob[2:_HEADER_OF_TENANT])))
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
