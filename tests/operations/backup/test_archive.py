from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from operations.backup import archive
from operations.backup.exceptions import Damaged, Unfit, WrongPassphrase
from operations.backup.sealing import Sealer
from shared.exceptions import Conflict
from tests.operations.backup.files import (
    DUMP,
    PASSPHRASE,
    SECRETS,
    cheap,
    flip,
    write,
    write_first_format,
)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.backup")


def dump_of(backup: archive.Backup) -> bytes:
    poured: list[bytes] = []
    backup.pour(poured.append)
    return b"".join(poured)


@pytest.mark.parametrize("size", [0, 1, 300_000, 2_000_000])
def test_what_was_written_is_read(tmp_path: Path, size: int):
    dump = bytes(number % 251 for number in range(size))

    found = archive.read(write(tmp_path / "a", dump), PASSPHRASE)

    assert dump_of(found) == dump
    assert found.manifest.row_counts == {"tasks": 2}
    assert found.secrets == SECRETS
    assert PASSPHRASE not in repr(found)


def test_nothing_of_it_can_be_read_without_the_passphrase(file: Path):
    content = file.read_bytes()

    for word in (b"PGDMP", b"the-key", b"tasks", b"row_counts", b"database_time", DUMP[100:108]):
        assert word not in content
    with pytest.raises(WrongPassphrase):
        archive.read(file, "another passphrase")


def test_only_its_owner_reads_the_file(file: Path):
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_left_when_the_block_fails(tmp_path: Path):
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    writing = archive.writing(tmp_path / "a", PASSPHRASE, force=False)
    with pytest.raises(RuntimeError), writing as writer:
        writer.dump(broken())

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(file: Path):
    before = file.read_bytes()

    with pytest.raises(Conflict):
        write(file)

    assert file.read_bytes() == before


def test_a_file_that_comes_meanwhile_stays(tmp_path: Path):
    path = tmp_path / "a"

    def meanwhile() -> Iterator[bytes]:
        path.write_bytes(b"another's")
        yield b"dump"

    with pytest.raises(Conflict), archive.writing(path, PASSPHRASE, force=False) as writer:
        writer.dump(meanwhile())

    assert path.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [path]


def test_force_replaces_it(file: Path):
    write(file, b"another", force=True)

    assert dump_of(archive.read(file, PASSPHRASE)) == b"another"


@pytest.mark.parametrize("offset", [0, 20, 100, 400, 5000, -1])
def test_one_changed_bit_is_found(file: Path, offset: int):
    flip(file, offset)

    with pytest.raises((Unfit, WrongPassphrase)):
        archive.read(file, PASSPHRASE)


@pytest.mark.parametrize("kept", [0, 10, 18, 100, 5000, -1])
def test_a_file_that_was_cut_off_is_found(file: Path, kept: int):
    file.write_bytes(file.read_bytes()[:kept])

    with pytest.raises(Damaged):
        archive.read(file, PASSPHRASE)


def test_a_dump_that_changes_while_it_is_restored_is_found(file: Path):
    found = archive.read(file, PASSPHRASE)
    flip(file, -9)

    with pytest.raises(Damaged):
        dump_of(found)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0", b"\0\0\0\x02{", b"\0\0\0\x02[]", b"\xff" * 99, b"\0\0\0\x02{}"],
)
def test_what_was_sealed_by_another_program_is_no_backup(tmp_path: Path, content: bytes):
    with (tmp_path / "a").open("wb") as stream:
        sealer = Sealer(stream, PASSPHRASE)
        sealer.write(content)
        sealer.end()

    with pytest.raises(Damaged):
        archive.read(tmp_path / "a", PASSPHRASE)


def test_a_backup_of_another_format_is_unfit(tmp_path: Path):
    with pytest.raises(Unfit, match="format 3"):
        archive.read(write(tmp_path / "b", format=3), PASSPHRASE)


def test_a_backup_of_the_first_format_is_read(tmp_path: Path):
    found = archive.read(write_first_format(tmp_path / "a"), PASSPHRASE)

    assert dump_of(found) == DUMP
    assert found.secrets == SECRETS
