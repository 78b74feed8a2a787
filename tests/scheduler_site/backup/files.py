"""Backup files as tests make them, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler_site.backup import archive, wrapping
from scheduler_site.backup.manifest import Manifest, known_migrations

PASSPHRASE = "correct horse battery"
DUMP = b"PGDMP" + bytes(range(256)) * 40
SECRETS = {"secret_key": "the-key", "encryption_keys": "k1:AAAA", "vapid_private_key": "v"}


def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let keys be made of passphrases at no cost."""
    monkeypatch.setattr(wrapping, "_COST", 2)


def write(path: Path, dump: bytes = DUMP, force: bool = False, **parts: Any) -> Path:
    """Write a backup; ``parts`` are facts of its manifest that differ."""
    with archive.writing(path, force=force) as writer:
        size, digest = writer.dump(iter([dump[:100], dump[100:]]))
        facts: dict[str, Any] = {
            "database_time": "2026-01-01T00:00:00.000Z",
            "server_version": "18.6",
            "server_major": 18,
            "migrations": {app: sorted(names) for app, names in known_migrations().items()},
            "row_counts": {"tasks": 2},
            "last_token": 7,
            "key_ids": ["k1"],
            "dump_bytes": size,
            "dump_sha256": digest,
            **parts,
        }
        content = Manifest(**facts).as_bytes()
        writer.add(archive.MANIFEST, content)
        writer.add(archive.SECRETS, wrapping.wrap(SECRETS, PASSPHRASE, content))
    return path
