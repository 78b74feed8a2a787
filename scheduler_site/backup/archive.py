"""The file of a backup: an uncompressed tar of dump, manifest, wrapped secrets and checksums.

Written beside its place under a temporary name with mode 0600 and put there when it is complete
and on the disk; readable by ``tar`` where everything else is lost. Whoever reads it has every
byte verified before anything is used.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scheduler_site.backup.manifest import Manifest, Unfit, read_manifest
from shared.exceptions import Conflict

DUMP, MANIFEST, SECRETS, SUMS = "database.dump", "manifest.json", "secrets.wrapped", "SHA256SUMS"
_MEMBERS = [DUMP, MANIFEST, SECRETS, SUMS]
_CHUNK = 1024 * 1024
#: Everything but the dump is small; more is not ours and is not read into memory.
_SMALL = 16 * 1024 * 1024


class Damaged(Unfit):
    """The file is no backup, is cut off, or some byte of it has changed."""

    code = "backup_damaged"


@dataclass(frozen=True, slots=True)
class Backup:
    """A verified file; ``manifest_bytes`` are the context that the secrets are sealed with."""

    path: Path
    manifest: Manifest
    manifest_bytes: bytes
    wrapped: bytes

    def pour(self, into: Callable[[bytes], object]) -> None:
        """Hand over the dump, piece by piece; raise Damaged if it has changed since."""
        digest = hashlib.sha256()
        with tarfile.open(self.path, "r:") as archive:
            for piece in _pieces(archive, DUMP):
                digest.update(piece)
                into(piece)
        if digest.hexdigest() != self.manifest.dump_sha256:
            raise Damaged("The dump has changed while it was read.")


class Writer:
    """The file while it is written: first the dump, in a stream, then what is known of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sums: list[str] = []

    def dump(self, pieces: Iterator[bytes]) -> tuple[int, str]:
        """Write the dump; return its bytes and their SHA-256."""
        start = self._stream.tell()
        # The header says the size, which only the end knows.
        self._stream.write(bytes(tarfile.BLOCKSIZE))
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            self._stream.write(piece)
        self._pad(size)
        self._stream.seek(start)
        self._stream.write(_header(DUMP, size))
        self._stream.seek(0, os.SEEK_END)
        self._sums.append(f"{digest.hexdigest()}  {DUMP}\n")
        return size, digest.hexdigest()

    def add(self, name: str, content: bytes) -> None:
        """Write a small member."""
        self._stream.write(_header(name, len(content)) + content)
        self._pad(len(content))
        self._sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")

    def end(self) -> None:
        """Write the checksums and the end; the file is complete and on the disk."""
        self.add(SUMS, "".join(self._sums).encode())
        self._stream.write(bytes(2 * tarfile.BLOCKSIZE))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _pad(self, size: int) -> None:
        self._stream.write(bytes(-size % tarfile.BLOCKSIZE))


@contextmanager
def writing(path: Path, *, force: bool) -> Iterator[Writer]:
    """Give the writer of a file that is there, whole, when the block has ended, or not at all.

    Raise Conflict when there is one already, unless forced; that one stays until the new is whole.
    """
    if path.exists() and not force:
        raise Conflict(f"{path} exists. Use --force to replace it.", code="file_exists")
    scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            writer = Writer(stream)
            yield writer
            writer.end()
        _place(scratch, path, force=force)
    finally:
        scratch.unlink(missing_ok=True)


def _place(scratch: Path, path: Path, *, force: bool) -> None:
    if force:
        scratch.replace(path)
    else:
        try:
            # Unlike a rename, a link never takes the place of a file made meanwhile.
            os.link(scratch, path)
        except FileExistsError as error:
            raise Conflict(f"{path} exists. Use --force to replace it.") from error
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read(path: Path) -> Backup:
    """Return a backup whose every byte has been verified; raise Damaged or Unfit."""
    try:
        with tarfile.open(path, "r:") as archive:
            if archive.getnames() != _MEMBERS:
                raise Damaged(f"{path} is not a backup, or its end is missing.")
            small = {name: _content(archive, name) for name in (MANIFEST, SECRETS, SUMS)}
            _verify(archive, small)
    except (tarfile.TarError, UnicodeDecodeError, EOFError) as error:
        raise Damaged(f"{path} is not a backup, or is damaged: {error}") from error
    manifest = read_manifest(small[MANIFEST])
    return Backup(path, manifest, small[MANIFEST], small[SECRETS])


def _verify(archive: tarfile.TarFile, small: dict[str, bytes]) -> None:
    found = []
    for name in (DUMP, MANIFEST, SECRETS):
        digest = hashlib.sha256()
        pieces = _pieces(archive, name) if name == DUMP else iter([small[name]])
        for piece in pieces:
            digest.update(piece)
        found.append(f"{digest.hexdigest()}  {name}")
    stated = small[SUMS].decode("ascii").splitlines()
    wrong = [line.split("  ")[-1] for line in found if line not in stated]
    if wrong or len(stated) != len(found):
        raise Damaged(f"The backup is damaged: {', '.join(wrong) or SUMS} has changed.")


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


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member.tobuf(tarfile.GNU_FORMAT)
