from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from operations.backup import archive
from operations.backup.exceptions import Unfit
from operations.backup.manifest import (
    Manifest,
    known_migrations,
    read_manifest,
    refuse_newer,
)
from tests.operations.backup.files import PASSPHRASE, cheap, facts, write


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    cheap(monkeypatch)
    return archive.read(write(tmp_path / "a"), PASSPHRASE).manifest


def test_a_manifest_reads_as_it_was_written(manifest: Manifest):
    assert read_manifest(orjson.dumps(manifest.as_dict())) == manifest
    assert manifest.total_rows == 2


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 1}', b'{"format": 1, "more": 2}'])
def test_what_is_no_manifest_is_refused(content: bytes):
    with pytest.raises(Unfit):
        read_manifest(content)


def test_a_manifest_of_the_first_format_is_read():
    of_the_dump = {"dump_bytes": 7, "dump_sha256": "ab", "format": 1}

    assert read_manifest(orjson.dumps({**facts(), **of_the_dump})).row_counts == {"tasks": 2}


def test_the_migrations_of_this_version_are_known():
    known = known_migrations()

    assert "0001_ledger" in known["executions"]
    assert {"tasks", "tenants", "events", "auth", "sessions"} <= known.keys()


def test_a_backup_of_this_version_or_an_older_one_fits(manifest: Manifest):
    refuse_newer(manifest, known_migrations())
    refuse_newer(replace(manifest, migrations={"executions": ["0001_ledger"]}), known_migrations())


@pytest.mark.parametrize("migrations", [{"executions": ["9999_future"]}, {"unheard_of": ["0001"]}])
def test_a_backup_of_a_newer_version_is_refused(
    manifest: Manifest, migrations: dict[str, list[str]]
):
    with pytest.raises(Unfit, match="newer version"):
        refuse_newer(replace(manifest, migrations=migrations), known_migrations())
