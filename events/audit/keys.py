"""The keys of the audit log, which are in no database (setting AUDIT_KEYS).

The first key is the active one; the others verify older entries. Each entry has a key of its own,
derived from the active key and the entry's id: the database computes the code of an entry, because
it alone knows the entry before, and gets the key of this entry and of no other.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from shared.conf import conf

#: An entry without a key: one of a version before, or of a process without AUDIT_KEYS.
PLAIN = ""
_ENTRY, _HEADS, _FINGERPRINT = b"entry:", b"heads:", b"fingerprint:"
_FINGERPRINT_LETTERS = 16
# HMAC's own constants (RFC 2104); the block of SHA-256 has 64 bytes.
_BLOCK = 64
_INNER = bytes(number ^ 0x36 for number in range(256))
_OUTER = bytes(number ^ 0x5C for number in range(256))


class Pads(NamedTuple):
    """A key as HMAC puts it before its two hashes; both empty for a plain entry."""

    inner: bytes
    outer: bytes


def key_ids() -> list[str]:
    """Return the ids of the keys, the active one first."""
    return list(conf().audit_keys)


def active_key() -> tuple[str, bytes]:
    """Return id and key of the active key; PLAIN and no key where none is configured."""
    return next(iter(conf().audit_keys.items()), (PLAIN, b""))


def key_of_entry(key: bytes, entry_id: UUID) -> bytes:
    """Return the key of one entry."""
    return hmac.digest(key, _ENTRY + entry_id.bytes, "sha256")


def pads_of_entry(key: bytes, entry_id: UUID) -> Pads:
    """Return the key of one entry in the form in which the database uses it."""
    if not key:
        return Pads(b"", b"")
    block = key_of_entry(key, entry_id).ljust(_BLOCK, b"\x00")
    return Pads(block.translate(_INNER), block.translate(_OUTER))


def seal_of_heads(key: bytes, content: bytes) -> str:
    """Return the code that authenticates a line of a file of heads."""
    return hmac.digest(key, _HEADS + content, "sha256").hex()


def fingerprint_of(content: bytes) -> str:
    """Return a keyed fingerprint of a value that an entry must not show.

    Equal values have the same. Only the key can try values against it. Empty without a key.
    """
    _, key = active_key()
    if not key:
        return ""
    return hmac.digest(key, _FINGERPRINT + content, "sha256").hex()[:_FINGERPRINT_LETTERS]


def keyring() -> Mapping[str, bytes]:
    """Return every configured key by its id, the active one first."""
    return conf().audit_keys
