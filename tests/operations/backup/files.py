"""Backup files as tests make them, without a database: of this format, and of the first."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from operations.backup import archive, sealing
from operations.backup.manifest import Manifest, known_migrations

PASSPHRASE = "correct horse battery"
DUMP = b"PGDMP" + bytes(range(256)) * 40
SECRETS = {"secret_key": "the-key", "encryption_keys": "k1:AAAA", "vapid_private_key": "v"}


def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let keys be made of passphrases at no cost."""
    monkeypatch.setattr(sealing, "_COST", 2)


def facts(**parts: Any) -> dict[str, Any]:
    return {
        "database_time": "2026-01-01T00:00:00.000Z",
        "server_version": "18.6",
        "server_major": 18,
        "migrations": {app: sorted(names) for app, names in known_migrations().items()},
        "row_counts": {"tasks": 2},
        "last_token": 7,
        "key_ids": ["k1"],
        **parts,
    }


def write(path: Path, dump: bytes = DUMP, force: bool = False, **parts: Any) -> Path:
    """Write a backup; ``parts`` are facts of its manifest that differ."""
    with archive.writing(path, PASSPHRASE, force=force) as writer:
        writer.begin(Manifest(**facts(**parts)), SECRETS)
        writer.dump(iter([dump[:100], dump[100:]]))
    return path


def write_first_format(
    path: Path, dump: bytes = DUMP, secrets: dict[str, str] = SECRETS, **parts: Any
) -> Path:
    """Write a backup as releases wrote them that sealed nothing but the secrets."""
    stated = {"dump_bytes": len(dump), "dump_sha256": hashlib.sha256(dump).hexdigest()}
    manifest = orjson.dumps({**facts(**parts), **stated, "format": 1}, option=orjson.OPT_SORT_KEYS)
    members = {
        "database.dump": dump,
        "manifest.json": manifest,
        "secrets.wrapped": wrapped(secrets, manifest),
    }
    members["SHA256SUMS"] = "".join(_sums(members.items())).encode()
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as made:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path


def wrapped(secrets: dict[str, str], context: bytes) -> bytes:
    """Return the secrets as the first format had them."""
    salt, nonce = os.urandom(16), os.urandom(12)
    key = Scrypt(salt=salt, length=32, n=2, r=8, p=1).derive(PASSPHRASE.encode())
    sealed = AESGCM(key).encrypt(nonce, orjson.dumps(secrets), context)
    texts = {"salt": salt, "nonce": nonce, "sealed": sealed}
    shown = {name: base64.b64encode(value).decode() for name, value in texts.items()}
    return orjson.dumps({"form": "scrypt+aes-256-gcm", "cost": 2, **shown})


def _sums(members: Iterable[tuple[str, bytes]]) -> Iterable[str]:
    for name, content in members:
        yield f"{hashlib.sha256(content).hexdigest()}  {name}\n"


def flip(path: Path, offset: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)
