"""A stream of bytes of any length, sealed under a passphrase piece by piece.

scrypt makes the keys from the passphrase. libsodium's secretstream (XChaCha20-Poly1305) seals each
piece at its place and marks the last one. The reader refuses a piece that was changed, moved,
doubled or left out before it hands out a byte of it. It also refuses a stream that was cut off or
extended. Only one piece is in memory at a time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import struct
from collections.abc import Iterator
from typing import IO, Any

import orjson
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from nacl import bindings
from nacl.exceptions import RuntimeError as NotAuthentic

from operations.backup.exceptions import Damaged, Unfit, WrongPassphrase

#: Shorter passphrases can be guessed.
SHORTEST_PASSPHRASE = 12
#: Every sealed backup begins with this; a number and a line end follow.
FAMILY = b"punctual-backup "
_MAGIC = FAMILY + b"2\n"
_FORM = "scrypt+secretstream-xchacha20poly1305"
#: 64 MiB of memory for each guess of a passphrase.
_COST = 2**16
#: None of our files asks for more than eight times that.
_HIGHEST_COST = 2**19
_BLOCK_SIZE, _PARALLEL, _SALT_BYTES = 8, 1, 16
_PIECE = 256 * 1024
_SEALED_PIECE = _PIECE + bindings.crypto_secretstream_xchacha20poly1305_ABYTES
_KEY_BYTES = bindings.crypto_secretstream_xchacha20poly1305_KEYBYTES
_FINAL = bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL
_MESSAGE = bindings.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE
_LENGTH = struct.Struct("!H")


class Sealer:
    """Seals bytes and writes them; ``end`` makes the stream complete."""

    def __init__(self, stream: IO[bytes], passphrase: str) -> None:
        self._stream = stream
        self._waiting = bytearray()
        salt = os.urandom(_SALT_BYTES)
        key, checking = _keys(passphrase, salt, _COST)
        self._state = bindings.crypto_secretstream_xchacha20poly1305_state()
        start = bindings.crypto_secretstream_xchacha20poly1305_init_push(self._state, key)
        head = {"form": _FORM, "cost": _COST, "salt": _text(salt), "start": _text(start)}
        words = orjson.dumps({**head, "check": _text(_check(checking, head))})
        stream.write(_MAGIC + _LENGTH.pack(len(words)) + words)

    def write(self, data: bytes) -> None:
        """Seal the bytes; keep the rest that does not fill a piece until more follow."""
        self._waiting += data
        # A full piece that may be the last waits, because the last one has another tag.
        while len(self._waiting) > _PIECE:
            self._push(bytes(self._waiting[:_PIECE]), _MESSAGE)
            del self._waiting[:_PIECE]

    def end(self) -> None:
        """Seal the rest as the last piece; a reader refuses a stream without one."""
        self._push(bytes(self._waiting), _FINAL)
        self._waiting.clear()

    def _push(self, piece: bytes, tag: int) -> None:
        push = bindings.crypto_secretstream_xchacha20poly1305_push
        self._stream.write(push(self._state, piece, tag=tag))


def unsealed(stream: IO[bytes], passphrase: str) -> Iterator[bytes]:
    """Yield the original bytes; raise WrongPassphrase, Damaged, or Unfit for another format.

    A caller that has read it to its end knows that nothing is missing.
    """
    state = _begun(stream, passphrase)
    tag = _MESSAGE
    while tag != _FINAL:
        piece = stream.read(_SEALED_PIECE)
        if len(piece) < _SEALED_PIECE - _PIECE:
            raise Damaged("The backup is cut off: its end is missing.")
        try:
            found, tag = bindings.crypto_secretstream_xchacha20poly1305_pull(state, piece)
        except NotAuthentic as error:
            raise Damaged(
                "The backup is damaged: its bytes have changed, or are cut off."
            ) from error
        yield found
    if stream.read(1):
        raise Damaged("The backup is damaged: something follows its end.")


def is_sealed(stream: IO[bytes]) -> bool:
    """Return whether a stream at its start is a sealed backup of any format."""
    found = stream.read(len(FAMILY)) == FAMILY
    stream.seek(0)
    return found


def _begun(
    stream: IO[bytes], passphrase: str
) -> bindings.crypto_secretstream_xchacha20poly1305_state:
    magic = stream.read(len(_MAGIC))
    if magic != _MAGIC:
        raise Unfit(
            "The backup has a format that this version does not read. "
            "Restore it with the version that made it, or a newer one."
        )
    try:
        [length] = _LENGTH.unpack(stream.read(_LENGTH.size))
        head: dict[str, Any] = orjson.loads(stream.read(length))
        check, start = _bytes(head.pop("check")), _bytes(head["start"])
        if head["form"] != _FORM or not 2 <= head["cost"] <= _HIGHEST_COST:
            raise Unfit("The backup is sealed in a way that this version cannot open.")
        key, checking = _keys(passphrase, _bytes(head["salt"]), head["cost"])
        if not hmac.compare_digest(check, _check(checking, head)):
            raise WrongPassphrase
        state = bindings.crypto_secretstream_xchacha20poly1305_state()
        bindings.crypto_secretstream_xchacha20poly1305_init_pull(state, start, key)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise Damaged("The backup is damaged: its beginning has changed, or is cut off.") from error
    return state


def _keys(passphrase: str, salt: bytes, cost: int) -> tuple[bytes, bytes]:
    kdf = Scrypt(salt=salt, length=2 * _KEY_BYTES, n=cost, r=_BLOCK_SIZE, p=_PARALLEL)
    made = kdf.derive(passphrase.encode())
    return made[:_KEY_BYTES], made[_KEY_BYTES:]


def _check(key: bytes, head: dict[str, Any]) -> bytes:
    """Return the digest that reveals a wrong passphrase or a changed head."""
    said = _MAGIC + orjson.dumps(head, option=orjson.OPT_SORT_KEYS)
    return hmac.digest(key, said, hashlib.sha256)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: str) -> bytes:
    try:
        found = base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error
    if _text(found) != value:
        raise ValueError("spare bits are set")  # a change that decoding does not see
    return found
