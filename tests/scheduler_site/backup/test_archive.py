from __future__ import annotations

import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_site.backup import archive
from scheduler_site.backup.archive import Damaged
from scheduler_site.backup.manifest import Unfit
from shared.exceptions import Conflict
from tests.scheduler_site.backup.files import DUMP, cheap, write


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.backup")


def offsets(path: Path) -> dict[str, int]:
    with tarfile.open(path) as found:
        return {member.name: member.offset_data for member in found}


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_what_was_written_is_read(file: Path):
    found = archive.read(file)
    poured: list[bytes] = []
    found.pour(poured.append)

    assert b"".join(poured) == DUMP
    assert found.manifest.dump_bytes == len(DUMP)
    assert found.manifest.row_counts == {"tasks": 2}
    assert found.manifest_bytes == found.manifest.as_bytes()


def test_it_is_a_tar_that_only_its_owner_reads(file: Path):
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(offsets(file)) == [
        "database.dump",
        "manifest.json",
        "secrets.wrapped",
        "SHA256SUMS",
    ]


def test_nothing_is_left_when_the_block_fails(tmp_path: Path):
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    with pytest.raises(RuntimeError), archive.writing(tmp_path / "a", force=False) as writer:
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
        path.write_bytes(b"somebody else's")
        yield b"dump"

    with pytest.raises(Conflict), archive.writing(path, force=False) as writer:
        writer.dump(meanwhile())

    assert path.read_bytes() == b"somebody else's"
    assert list(tmp_path.iterdir()) == [path]


def test_force_replaces_it(file: Path):
    write(file, b"another", force=True)

    assert archive.read(file).manifest.dump_bytes == 7


@pytest.mark.parametrize(
    "member", ["database.dump", "manifest.json", "secrets.wrapped", "SHA256SUMS"]
)
def test_one_changed_bit_in_any_part_is_found(file: Path, member: str):
    flip(file, offsets(file)[member] + 3)

    with pytest.raises(Damaged):
        archive.read(file)


@pytest.mark.parametrize("member", ["database.dump", "manifest.json", "SHA256SUMS"])
def test_a_changed_header_is_found(file: Path, member: str):
    flip(file, offsets(file)[member] - tarfile.BLOCKSIZE)

    with pytest.raises(Damaged):
        archive.read(file)


@pytest.mark.parametrize("kept", [0, 100, 512, 5000, 11_000, 15_000])
def test_a_file_that_was_cut_off_is_found(file: Path, kept: int):
    file.write_bytes(file.read_bytes()[:kept])

    with pytest.raises(Damaged):
        archive.read(file)


def test_any_other_file_is_no_backup(tmp_path: Path):
    other = tmp_path / "other"
    other.write_bytes(b"hello" * 1000)
    with tarfile.open(tmp_path / "other.tar", "w") as made:
        made.add(other)

    for path in (other, tmp_path / "other.tar"):
        with pytest.raises(Damaged):
            archive.read(path)


def test_a_dump_that_changes_while_it_is_restored_is_found(file: Path):
    found = archive.read(file)
    flip(file, offsets(file)["database.dump"] + 9)

    with pytest.raises(Damaged):
        found.pour(lambda piece: None)


def test_a_backup_of_another_format_is_unfit(tmp_path: Path):
    with pytest.raises(Unfit, match="format 2"):
        archive.read(write(tmp_path / "b", format=2))
