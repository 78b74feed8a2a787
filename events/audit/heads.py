"""Keeps the ends of all chains in files outside of the database, for ``audit verify``.

A database that lost the last entries of a chain looks whole. So each hour the head of every chain
that has moved is appended to the file of the month, in lines that the audit key authenticates,
each with the line before it. A file ``latest.json`` has the last head of each chain, so that an
hour without changes writes nothing and reads only the ends of the chains.
"""

from __future__ import annotations

import fcntl
import hmac
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import orjson

from events.audit import keys
from events.audit.verifying import Head, begin_of
from events.audit.writing import record
from shared.actor import SYSTEM
from shared.conf import conf
from shared.exceptions import Conflict
from shared.instants import format_instant
from shared.sql import rows
from shared.sql_arrays import of_integers, of_uuids

_LATEST, _LOCK = "latest.json", "lock"
_PATTERN = "heads-*.jsonl"
_PRIVATE = 0o600
#: A head in memory: there is one for each hour and chain, for years.
_PACKED = struct.Struct(">Q32s")
#: The action of the entry that seals a chain of a version without keys.
SEALED = "audit.sealed"


class NoKey(Conflict):
    """There is no key of the audit log, so that heads would prove nothing."""

    code = "no_audit_key"


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a pass: how many chains there are and have moved, and which went back."""

    chains: int
    moved: int
    sealed: int
    path: Path
    #: Chains whose end in the database is behind, or beside, the head that was kept.
    gone_back: list[UUID] = field(default_factory=list)


class _Heads(Mapping[UUID, list[Head]]):
    """Heads by chain, in little memory."""

    def __init__(self) -> None:
        self._packed: dict[UUID, bytearray] = {}

    def add(self, chain: UUID, head: Head) -> None:
        self._packed.setdefault(chain, bytearray()).extend(_PACKED.pack(*head))

    def __getitem__(self, chain: UUID) -> list[Head]:
        return [Head(*one) for one in _PACKED.iter_unpack(self._packed[chain])]

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


@dataclass(frozen=True, slots=True)
class Kept:
    """All heads that files keep, by chain; ``broken`` are the lines that do not verify."""

    heads: Mapping[UUID, list[Head]]
    lines: int
    broken: list[str]


def write_heads(now: datetime) -> Written:
    """Append the head of each chain that has moved since the last pass.

    A chain that is behind its kept head, or has another entry in its place, is reported, and its
    head stays as it was. Chains of a version without keys are sealed by an entry at the first
    pass. Raise Conflict without a key, OSError where the files cannot be written.
    """
    if not keys.keyring():
        raise NoKey("AUDIT_KEYS is empty: heads would prove nothing. `manage.py up` makes a key.")
    folder = directory()
    with _locked(folder):
        latest = _read_latest(folder)
        sealed = 0 if latest is not None else _seal_plain_chains()
        known = latest or {}
        ends = _ends()
        moved = {
            chain: head for chain, head in ends.items() if head.sequence > _number(known, chain)
        }
        back = [chain for chain, head in known.items() if _went_back(head, ends.get(chain))]
        replaced = _replaced({chain: known[chain] for chain in moved if chain in known})
        back += replaced
        for chain in replaced:
            del moved[chain]
        path = folder / f"heads-{now.astimezone(UTC):%Y-%m}.jsonl"
        if moved:
            _append(path, moved, now)
        if moved or latest is None:
            _write_latest(folder, {**known, **moved})
    return Written(len(ends), len(moved), sealed, path, sorted(back))


def read_heads(source: Path | None = None, chain: UUID | None = None) -> Kept:
    """Return the heads of a file or of all files of a directory, for one chain or for all.

    Raise NotFoundError of the system where the file is missing; a directory without files has no
    heads. All heads count, not only the highest: a chain that was cut off and has grown beyond its
    head again differs from the former heads alone.
    """
    place = source or directory()
    files = sorted(place.glob(_PATTERN)) if place.is_dir() else [place]
    if source is None and not place.exists():
        files = []
    heads = _Heads()
    lines, broken = 0, []
    for path in files:
        for number, line in enumerate(_lines(path), start=1):
            lines += 1
            if line is None:
                broken.append(f"{path.name}:{number}")
                continue
            one, head = line
            if chain in (None, one):
                heads.add(one, head)
    return Kept(heads, lines, broken)


def directory() -> Path:
    """Return the directory of the files."""
    return Path(conf().audit_heads_dir)


def _ends() -> dict[UUID, Head]:
    return {
        tenant: Head(sequence, bytes(code))
        for tenant, sequence, code, _ in rows("audit/ends")
        if sequence
    }


def _seal_plain_chains() -> int:
    """Append an entry with a key to each chain whose last entry has none; return how many."""
    plain = [tenant for tenant, _, _, key_id in rows("audit/ends") if key_id == keys.PLAIN]
    for tenant in plain:
        record(tenant, SYSTEM, SEALED, "audit", tenant)
    return len(plain)


def _number(known: Mapping[UUID, Head], chain: UUID) -> int:
    return known[chain].sequence if chain in known else 0


def _went_back(kept: Head, end: Head | None) -> bool:
    if end is None or end.sequence < kept.sequence:
        return True
    return end.sequence == kept.sequence and end.code != kept.code


def _replaced(known: Mapping[UUID, Head]) -> list[UUID]:
    """Return the chains that have another entry, or none, at the number of their kept head."""
    numbers = of_integers([head.sequence for head in known.values()])
    chosen = {"tenants": of_uuids(list(known)), "numbers": numbers}
    codes = (
        {tenant: bytes(code) for tenant, code in rows("audit/codes_at", chosen)} if known else {}
    )
    return [
        chain
        for chain, head in known.items()
        if codes.get(chain) != head.code
        # The retention may have removed it, behind a checkpoint.
        and (chain in codes or begin_of(chain).sequence < head.sequence)
    ]


def _append(path: Path, moved: Mapping[UUID, Head], now: datetime) -> None:
    key_id, key = keys.active_key()
    with _opened(path) as file:
        previous = _last_seal(file)
        for chain, head in sorted(moved.items()):
            document = {
                "at": format_instant(now),
                "chain": str(chain),
                "sequence": head.sequence,
                "code": head.code.hex(),
                "key": key_id,
            }
            previous = _seal(key, document, previous)
            file.write(orjson.dumps({**document, "seal": previous}) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _seal(key: bytes, document: Mapping[str, Any], previous: str) -> str:
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    return keys.seal_of_heads(key, previous.encode() + content)


def _lines(path: Path) -> Iterator[tuple[UUID, Head] | None]:
    """Yield chain and head of each line; None for a line that its key does not authenticate."""
    previous = ""
    with path.open("rb") as file:
        for line in file:
            try:
                document = orjson.loads(line)
                seal = str(document.pop("seal"))
                key = keys.keyring().get(document["key"])
                valid = key is not None and hmac.compare_digest(
                    _seal(key, document, previous), seal
                )
                found = (
                    UUID(document["chain"]),
                    Head(int(document["sequence"]), bytes.fromhex(document["code"])),
                )
            except (ValueError, KeyError, TypeError, AttributeError):
                yield None
                continue
            previous = seal
            yield found if valid else None


def _last_seal(file: IO[bytes]) -> str:
    """Return the seal of the last whole line, and go behind it: a crash may leave a part of one."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - 4096)
    file.seek(start)
    whole, newline, _ = file.read().rpartition(b"\n")
    file.truncate(start + len(whole) + len(newline))
    file.seek(0, os.SEEK_END)
    if not whole:
        return ""
    try:
        return str(orjson.loads(whole.rpartition(b"\n")[2])["seal"])
    except (ValueError, KeyError, TypeError):
        return ""


def _read_latest(folder: Path) -> dict[UUID, Head] | None:
    """Return the last head of each chain; None where the file is missing or not authentic."""
    try:
        document = orjson.loads((folder / _LATEST).read_bytes())
        seal = str(document.pop("seal"))
        key = keys.keyring()[document["key"]]
        if not hmac.compare_digest(_seal(key, document, ""), seal):
            return None
        found = document["heads"].items()
        return {UUID(one): Head(int(at), bytes.fromhex(code)) for one, (at, code) in found}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write_latest(folder: Path, heads: Mapping[UUID, Head]) -> None:
    key_id, key = keys.active_key()
    found = {str(chain): [head.sequence, head.code.hex()] for chain, head in heads.items()}
    document = {"key": key_id, "heads": found}
    scratch = folder / f"{_LATEST}.new"
    with _opened(scratch, fresh=True) as file:
        file.write(orjson.dumps({**document, "seal": _seal(key, document, "")}))
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(folder / _LATEST)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.geteuid() == 0:
            owner = folder.parent.stat()
            os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)
    with _opened(folder / _LOCK) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _opened(path: Path, *, fresh: bool = False) -> IO[bytes]:
    """Open a file to read and write; a new one belongs to the owner of its directory.

    Root may write the heads by a command, and the system worker has to go on.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    if fresh:
        # An interrupted pass, or another user, may have left it: never write through it.
        path.unlink(missing_ok=True)
    try:
        descriptor = os.open(path, flags | os.O_EXCL, _PRIVATE)
    except FileExistsError:
        descriptor = os.open(path, flags, _PRIVATE)
    else:
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return os.fdopen(descriptor, "r+b")
