from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from operations.backup import archive, programs
from operations.backup.programs import ProgramFailed
from shared.commands import CONFLICT, FAILED, WRONG_USE
from tests.operations.backup.files import PASSPHRASE, cheap
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    monkeypatch.setenv("BACKUP_PASSPHRASE", PASSPHRASE)


def test_it_says_what_it_wrote(tmp_path: Path):
    path = tmp_path / "a.backup"

    said = call("backup", "--to", str(path), "--json")

    document = read_document("backup", said.out)
    assert said.code == 0
    assert document["bytes"] == path.stat().st_size
    digest = hashlib.sha256()
    archive.read(path, PASSPHRASE).pour(digest.update)
    assert document["dump_sha256"] == digest.hexdigest()
    assert PASSPHRASE not in said.out + said.err


def test_people_read_how_much_it_is_and_of_when(tmp_path: Path):
    said = call("backup", "--to", str(tmp_path / "a"))

    assert "state of" in said.out
    assert "the secret key" in said.out
    assert "elsewhere" in said.err


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"former")

    refused = call("backup", "--to", str(path))
    kept = path.read_bytes()

    assert (refused.code, kept) == (CONFLICT, b"former")
    assert "--overwrite" in refused.err
    assert call("backup", "--to", str(path), "--overwrite").code == 0


def test_a_directory_that_is_not_there_is_told(tmp_path: Path):
    said = call("backup", "--to", str(tmp_path / "none" / "a"))

    assert said.code == FAILED
    assert "No such file" in said.err


def test_a_dump_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(url: str, snapshot: str, left_out: tuple[str, ...]):
        raise ProgramFailed("pg_dump failed: server version mismatch")

    monkeypatch.setattr(programs, "dump", broken)

    said = call("backup", "--to", str(tmp_path / "a"))

    assert (said.code, "mismatch" in said.err) == (FAILED, True)


def test_without_a_passphrase_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BACKUP_PASSPHRASE")
    type_in(monkeypatch, "", terminal=False)

    said = call("backup", "--to", str(tmp_path / "a"))

    assert said.code == WRONG_USE
    assert "BACKUP_PASSPHRASE" in said.err
    assert list(tmp_path.iterdir()) == []
