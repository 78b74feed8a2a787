"""The file of a backup: facts, secrets and dump as one stream, all of it sealed.

The writer uses a temporary name beside the final one, with mode 0600, and moves the file into place
when it is complete and on the disk. The reader verifies every byte before it uses anything. It also
reads backups of the first format, which were sealed only in part.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import orjson

from operations.backup import first_format
from operations.backup.exceptions import Damaged
from operations.backup.manifest import Manifest, read_manifest
from operations.backup.sealing import Sealer, is_sealed, unsealed
from shared.exceptions import Conflict

_LENGTH = struct.Struct("!I")
#: Facts and secrets are small; we do not read more than this into memory, because it is not ours.
_SMALL = 16 * 1024 * 1024


class Backup(Protocol):
    """A verified file."""

    @property
    def manifest(self) -> Manifest:
        """Return the facts of the backup."""

    @property
    def secrets(self) -> dict[str, str]:
        """Return the secrets of the backup."""

    def pour(self, into: Callable[[bytes], object]) -> None:
        """Hand over the dump, piece by piece; raise Damaged if it has changed since."""


@dataclass(frozen=True, slots=True)
class SealedBackup:
    """A file that is sealed as a whole, opened."""

    path: Path
    passphrase: str = field(repr=False)
    manifest: Manifest
    secrets: dict[str, str] = field(repr=False)

    def pour(self, into: Callable[[bytes], object]) -> None:
        """Hand over the dump, piece by piece; raise Damaged if it has changed since."""
        with self.path.open("rb") as stream:
            _, dump = _parted(unsealed(stream, self.passphrase))
            for piece in dump:
                into(piece)


class Writer:
    """Writes the file: first the facts and the secrets, then the dump."""

    def __init__(self, stream: IO[bytes], passphrase: str) -> None:
        self._stream = stream
        self._sealer = Sealer(stream, passphrase)

    def begin(self, manifest: Manifest, secrets: dict[str, str]) -> None:
        """Write the facts and the secrets."""
        words = orjson.dumps({"manifest": manifest.as_dict(), "secrets": secrets})
        self._sealer.write(_LENGTH.pack(len(words)) + words)

    def dump(self, pieces: Iterator[bytes]) -> str:
        """Write the dump; return the SHA-256 of its bytes."""
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
            self._sealer.write(piece)
        return digest.hexdigest()

    def end(self) -> None:
        """Write the last piece; the file is complete and on the disk."""
        self._sealer.end()
        self._stream.flush()
        os.fsync(self._stream.fileno())


@contextmanager
def writing(path: Path, passphrase: str, *, force: bool) -> Iterator[Writer]:
    """Yield the writer of a file that exists, complete, when the block has ended, or not at all.

    Raise Conflict when the file exists, unless forced: the old one stays until the new is complete.
    """
    if path.exists() and not force:
        raise Conflict(f"{path} exists. Use --overwrite to replace it.", code="file_exists")
    scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            writer = Writer(stream, passphrase)
            yield writer
            writer.end()
        _place(scratch, path, force=force)
    finally:
        scratch.unlink(missing_ok=True)


def read(path: Path, passphrase: str) -> Backup:
    """Return a backup whose every byte has been verified; raise Damaged, Unfit, WrongPassphrase."""
    with path.open("rb") as stream:
        if not is_sealed(stream):
            return first_format.read(path, passphrase)
        head, dump = _parted(unsealed(stream, passphrase))
        for _ in dump:
            # Reading verifies each piece; the last one is marked as the last.
            continue
    try:
        found = orjson.loads(head)
        manifest, secrets = read_manifest(orjson.dumps(found["manifest"])), dict(found["secrets"])
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path} holds something else than a backup.") from error
    return SealedBackup(path, passphrase, manifest, secrets)


def _parted(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return facts and secrets as they were written, and the rest of the stream."""
    begun = bytearray()

    def gather(size: int) -> bytes:
        while len(begun) < size:
            piece = next(pieces, None)
            if piece is None:
                raise Damaged("The backup ends before its dump begins.")
            begun.extend(piece)
        taken = bytes(begun[:size])
        del begun[:size]
        return taken

    [length] = _LENGTH.unpack(gather(_LENGTH.size))
    if length > _SMALL:
        raise Damaged("The facts of the backup are too large: the file is damaged.")
    head = gather(length)

    def rest() -> Iterator[bytes]:
        yield bytes(begun)
        yield from pieces

    return head, rest()


def _place(scratch: Path, path: Path, *, force: bool) -> None:
    if force:
        scratch.replace(path)
    else:
        try:
            # Unlike a rename, a link never takes the place of a file made meanwhile.
            os.link(scratch, path)
        except FileExistsError as error:
            raise Conflict(f"{path} exists. Use --overwrite to replace it.") from error
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
