from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from operations.backup.exceptions import Damaged, WrongPassphrase
from operations.backup.first_format import read, unwrap
from tests.operations.backup.files import (
    DUMP,
    PASSPHRASE,
    SECRETS,
    flip,
    wrapped,
    write_first_format,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_first_format(tmp_path / "a.backup")


def offsets(path: Path) -> dict[str, int]:
    with tarfile.open(path) as found:
        return {member.name: member.offset_data for member in found}


def test_its_facts_secrets_and_dump_are_read(file: Path):
    found = read(file, PASSPHRASE)
    poured: list[bytes] = []
    found.pour(poured.append)

    assert b"".join(poured) == DUMP
    assert (found.manifest.format, found.manifest.total_rows) == (1, 2)
    assert found.secrets == SECRETS


@pytest.mark.parametrize(
    "member", ["database.dump", "manifest.json", "secrets.wrapped", "SHA256SUMS"]
)
def test_one_changed_bit_in_any_part_is_found(file: Path, member: str):
    flip(file, offsets(file)[member] + 3)

    with pytest.raises(Damaged):
        read(file, PASSPHRASE)


@pytest.mark.parametrize("member", ["database.dump", "manifest.json", "SHA256SUMS"])
def test_a_changed_header_is_found(file: Path, member: str):
    flip(file, offsets(file)[member] - tarfile.BLOCKSIZE)

    with pytest.raises(Damaged):
        read(file, PASSPHRASE)


@pytest.mark.parametrize("kept", [0, 100, 512, 5000, 11_000])
def test_a_file_that_was_cut_off_is_found(file: Path, kept: int):
    file.write_bytes(file.read_bytes()[:kept])

    with pytest.raises(Damaged):
        read(file, PASSPHRASE)


def test_any_other_file_is_no_backup(tmp_path: Path):
    other = tmp_path / "other"
    other.write_bytes(b"hello" * 1000)
    with tarfile.open(tmp_path / "other.tar", "w") as made:
        made.add(other)

    for path in (other, tmp_path / "other.tar"):
        with pytest.raises(Damaged):
            read(path, PASSPHRASE)


def test_a_dump_that_changes_while_it_is_restored_is_found(file: Path):
    found = read(file, PASSPHRASE)
    flip(file, offsets(file)["database.dump"] + 9)

    with pytest.raises(Damaged):
        found.pour(lambda piece: None)


def test_another_passphrase_opens_nothing(file: Path):
    with pytest.raises(WrongPassphrase):
        read(file, "another passphrase")


@pytest.mark.parametrize(
    "parts",
    [
        {"form": "rot13"},
        {"cost": 2**30},
        {"cost": 1},
        {"cost": 3},
        {"cost": "2"},
        {"salt": "?"},
        {"nonce": ""},
        {"sealed": "AAAA"},
        {"sealed": None},
    ],
)
def test_changed_secrets_are_refused(parts: dict[str, Any]):
    changed = orjson.dumps({**orjson.loads(wrapped(SECRETS, b"m")), **parts})

    with pytest.raises(WrongPassphrase):
        unwrap(changed, PASSPHRASE, b"m")


@pytest.mark.parametrize("changed", [b"", b"[]", b"{}", b"\xff"])
def test_what_is_no_secrets_is_refused(changed: bytes):
    with pytest.raises(WrongPassphrase):
        unwrap(changed, PASSPHRASE, b"m")


def test_secrets_belong_to_their_manifest():
    assert unwrap(wrapped(SECRETS, b"m"), PASSPHRASE, b"m") == SECRETS
    with pytest.raises(WrongPassphrase):
        unwrap(wrapped(SECRETS, b"m"), PASSPHRASE, b"another manifest")
