"""The files of the archive: a gzipped CSV per table and day, with a manifest beside it.

``<root>/<table>/<YYYY-MM-DD>.csv.gz``. A file is written under a temporary name, read back, and
put in its place when it is whole and on the disk. Its manifest comes last; a file without one is
ignored. A day that was made again after it was dropped gets a further part,
``<YYYY-MM-DD>.2.csv.gz``; rows of a later part replace earlier ones with the same id.

A writer has the turn of ``executions.ledger.retention``, so there is one at a time.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import orjson

from executions.ledger.archive.rows import records
from shared.exceptions import PunctualError

FORMAT = 1
_LEVEL = 6
_MANIFEST = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.(\d+))?\.json")
#: The errors that gzip raises for foreign or missing bytes.
_BROKEN = (gzip.BadGzipFile, zlib.error, EOFError, ValueError)


class Damaged(PunctualError):
    """A file of the archive differs from its manifest."""

    code = "archive_damaged"
    status = 409


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the rows of a part.

    ``columns`` are names with types, in order; ``schema`` the last migration of each app.
    ``final`` rows are of a day that had left the ledger, so that no row could be added. The next
    part of the day replaces other rows.
    """

    columns: dict[str, str]
    schema: dict[str, str]
    final: bool
    written_at: str


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the archive as its manifest describes it; ``day`` is YYYY-MM-DD.

    ``sha256`` and ``bytes`` are of the file, ``content_sha256`` of the CSV in it.
    """

    table: str
    day: str
    number: int
    rows: int
    bytes: int
    sha256: str
    content_sha256: str
    facts: Facts
    format: int = FORMAT

    def path(self, root: Path) -> Path:
        """Return the path of the rows."""
        return root / self.table / f"{self._stem}.csv.gz"

    def manifest(self, root: Path) -> Path:
        """Return the path of the manifest."""
        return root / self.table / f"{self._stem}.json"

    @property
    def _stem(self) -> str:
        return self.day if self.number == 1 else f"{self.day}.{self.number}"


def manifests(root: Path, table: str = "*", day: str = "*") -> list[Path]:
    """Return the manifests of a table and day, or of all, by day, table and number."""
    found = [
        (match[1], path.parent.name, int(match[2] or 1), path)
        for path in root.glob(f"{table}/*.json")
        if (match := _MANIFEST.fullmatch(path.name)) and day in ("*", match[1])
    ]
    return [path for *_, path in sorted(found)]


def read_manifest(path: Path) -> Part:
    """Return the part that a manifest describes; raise Damaged where it describes none."""
    match = _MANIFEST.fullmatch(path.name)
    try:
        stored: dict[str, Any] = orjson.loads(path.read_bytes())
        if stored["format"] > FORMAT:
            raise Damaged(f"{path} was written by a newer version.")
        part = Part(**{**stored, "facts": Facts(**stored["facts"])})
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path} is not the manifest of a part.") from error
    place = (part.table, part.day, part.number)
    if match is None or place != (path.parent.name, match[1], int(match[2] or 1)):
        raise Damaged(f"{path} is the manifest of another part: {' '.join(map(str, place))}.")
    return part


def parts_of(root: Path, table: str, day: str) -> list[Part]:
    """Return the parts of a table's day in order; raise Damaged for an unreadable manifest."""
    return [read_manifest(path) for path in manifests(root, table, day)]


def verify(root: Path, part: Part) -> None:
    """Raise Damaged unless the part has exactly the bytes that were written."""
    path = part.path(root)
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise Damaged(f"{path} is missing.") from error
    if digest != part.sha256:
        raise Damaged(f"{path} has changed since it was written.")


def contents(root: Path, part: Part) -> Iterator[bytes]:
    """Yield the lines of a part's CSV, the heading first; raise Damaged where they end early."""
    path = part.path(root)
    try:
        with gzip.open(path, "rb") as stream:
            yield from stream
    except _BROKEN as error:
        raise Damaged(f"{path} cannot be unpacked: {error}") from error


def check_writable(root: Path) -> None:
    """Raise OSError when the archive cannot be written to."""
    _ensure_folder(root)
    with tempfile.TemporaryFile(dir=root) as probe:
        probe.write(b"\0")


class Writer:
    """A part while it is written: first the CSV, in blocks, then its facts."""

    def __init__(self, stream: IO[bytes], scratch: Path, place: tuple[Path, str, str]) -> None:
        self._stream = stream
        self._scratch = scratch
        self._root, self._table, self._day = place
        # Without a name and a time in it, the same rows are the same file.
        self._packed = gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0)
        self._content = hashlib.sha256()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        """Take the next piece of the CSV."""
        self._content.update(block)
        self._packed.write(block)

    def close(self) -> None:
        """Close the file; ignore the disk's errors, which a write has raised already."""
        with suppress(OSError):
            self._packed.close()

    def finish(self, rows: int, facts: Facts) -> Part:
        """Put the part in its place and return it, or return the last one if its rows are the same.

        Reads the file back first; raise Damaged when it differs from the written rows.
        """
        self._packed.close()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        content = self._content.hexdigest()
        if _measure(self._scratch) != (rows, content):
            raise Damaged(f"{self._scratch} does not hold what was written to it.")
        earlier = parts_of(self._root, self._table, self._day)
        last = max(
            (part for part in earlier if part.facts.final), key=attrgetter("number"), default=None
        )
        same = last is not None and last.content_sha256 == content
        kept = last if last is not None and same and _is_whole(self._root, last) else None
        for part in earlier:
            if not part.facts.final:
                part.manifest(self._root).unlink()
        if kept is None:
            # A damaged part whose rows are all here is replaced.
            number = (last.number if last else 0) + (0 if same else 1)
            kept = self._put(number, rows, content, facts)
        self._clear({part.path(self._root) for part in earlier if not part.facts.final}, kept)
        return kept

    def _put(self, number: int, rows: int, content: str, facts: Facts) -> Part:
        with self._scratch.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = self._scratch.stat().st_size
        part = Part(self._table, self._day, number, rows, size, digest, content, facts)
        manifest = part.manifest(self._root)
        # The manifest of one file must never be beside another file.
        manifest.unlink(missing_ok=True)
        _sync_folder(manifest.parent)
        self._scratch.replace(part.path(self._root))
        _sync_folder(manifest.parent)
        described = orjson.dumps(asdict(part), option=orjson.OPT_INDENT_2)
        scratch = manifest.with_name(f".{manifest.name}.new")
        with _private(scratch) as stream:
            stream.write(described + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(manifest)
        _sync_folder(manifest.parent)
        return part

    def _clear(self, replaced: set[Path], kept: Part) -> None:
        left_over = replaced - {kept.path(self._root)}
        if left_over:
            # A manifest that comes back after a crash must find its file.
            _sync_folder(kept.path(self._root).parent)
        for path in left_over:
            path.unlink(missing_ok=True)


@contextmanager
def writing(root: Path, table: str, day: str) -> Iterator[Writer]:
    """Yield the writer of a table's day; remove an unfinished part."""
    folder = root / table
    _ensure_folder(folder)
    for left in folder.glob(".*.new"):
        left.unlink(missing_ok=True)
    scratch = folder / f".{day}.csv.gz.new"
    try:
        with _private(scratch) as stream:
            writer = Writer(stream, scratch, (root, table, day))
            try:
                yield writer
            finally:
                writer.close()
    finally:
        scratch.unlink(missing_ok=True)


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _is_whole(root: Path, part: Part) -> bool:
    try:
        verify(root, part)
    except Damaged:
        return False
    return True


def _measure(path: Path) -> tuple[int, str]:
    """Return how many rows the CSV in a file has, and its SHA-256."""
    digest = hashlib.sha256()

    def lines() -> Iterator[bytes]:
        with gzip.open(path, "rb") as stream:
            for line in stream:
                digest.update(line)
                yield line

    try:
        count = sum(1 for _ in records(lines()))
    except _BROKEN as error:
        raise Damaged(f"{path} cannot be read back: {error}") from error
    # The first record is the heading.
    return count - 1, digest.hexdigest()


def _ensure_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _ensure_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    # Tables are dropped once their rows are in it: its entry in the parent must survive a crash.
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
