"""Backups of the first format: a tar of dump, manifest, wrapped secrets and checksums.

Only their secrets were sealed, with AES-256-GCM under the passphrase and the manifest as context.
This version reads them, but does not write them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from operations.backup.exceptions import Damaged, WrongPassphrase
from operations.backup.manifest import Manifest, read_manifest

_DUMP, _MANIFEST, _SECRETS, _SUMS = (
    "database.dump",
    "manifest.json",
    "secrets.wrapped",
    "SHA256SUMS",
)
_MEMBERS = [_DUMP, _MANIFEST, _SECRETS, _SUMS]
_FORM = "scrypt+aes-256-gcm"
_HIGHEST_COST = 2**19
_CHUNK = 1024 * 1024
#: Everything but the dump is small; we do not read more than this into memory.
_SMALL = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TarBackup:
    """A verified file of the first format, with its secrets open."""

    path: Path
    manifest: Manifest
    secrets: dict[str, str] = field(repr=False)
    dump_sha256: str

    def pour(self, into: Callable[[bytes], object]) -> None:
        """Hand over the dump, piece by piece; raise Damaged if it has changed since."""
        digest = hashlib.sha256()
        with tarfile.open(self.path, "r:") as archive:
            for piece in _pieces(archive, _DUMP):
                digest.update(piece)
                into(piece)
        if digest.hexdigest() != self.dump_sha256:
            raise Damaged("The dump has changed while it was read.")


def read(path: Path, passphrase: str) -> TarBackup:
    """Return a backup whose every byte has been verified; raise Damaged, Unfit, WrongPassphrase."""
    try:
        with tarfile.open(path, "r:") as archive:
            if archive.getnames() != _MEMBERS:
                raise Damaged(f"{path} is not a backup, or its end is missing.")
            small = {name: _content(archive, name) for name in (_MANIFEST, _SECRETS, _SUMS)}
            dump_sha256 = _verify(archive, small)
    except (tarfile.TarError, UnicodeDecodeError, EOFError) as error:
        raise Damaged(f"{path} is not a backup, or is damaged: {error}") from error
    manifest = read_manifest(small[_MANIFEST])
    secrets = unwrap(small[_SECRETS], passphrase, small[_MANIFEST])
    return TarBackup(path, manifest, secrets, dump_sha256)


def unwrap(wrapped: bytes, passphrase: str, context: bytes) -> dict[str, str]:
    """Return the secrets; raise WrongPassphrase when they do not open."""
    try:
        stored: dict[str, Any] = orjson.loads(wrapped)
        if stored["form"] != _FORM or not 2 <= stored["cost"] <= _HIGHEST_COST:
            raise WrongPassphrase("The secrets are sealed in a way that this version cannot open.")
        salt, nonce, sealed = (_bytes(stored[name]) for name in ("salt", "nonce", "sealed"))
        key = Scrypt(salt=salt, length=32, n=stored["cost"], r=8, p=1).derive(passphrase.encode())
        found: dict[str, str] = orjson.loads(AESGCM(key).decrypt(nonce, sealed, context))
    except (InvalidTag, ValueError, KeyError, TypeError, binascii.Error) as error:
        raise WrongPassphrase("The passphrase does not open the secrets of this backup.") from error
    return found


def _verify(archive: tarfile.TarFile, small: dict[str, bytes]) -> str:
    """Return the checksum of the dump; raise Damaged unless every member has its stated one."""
    found = {}
    for name in (_DUMP, _MANIFEST, _SECRETS):
        digest = hashlib.sha256()
        pieces = _pieces(archive, name) if name == _DUMP else iter([small[name]])
        for piece in pieces:
            digest.update(piece)
        found[name] = digest.hexdigest()
    stated = small[_SUMS].decode("ascii").splitlines()
    wrong = [name for name, digest in found.items() if f"{digest}  {name}" not in stated]
    if wrong or len(stated) != len(found):
        raise Damaged(f"The backup is damaged: {', '.join(wrong) or _SUMS} has changed.")
    return found[_DUMP]


def _pieces(archive: tarfile.TarFile, name: str) -> Iterator[bytes]:
    member = archive.extractfile(name)
    if member is None:
        raise Damaged(f"{name} is not a file.")
    while piece := member.read(_CHUNK):
        yield piece


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    if archive.getmember(name).size > _SMALL:
        raise Damaged(f"{name} is too large.")
    return b"".join(_pieces(archive, name))


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)
