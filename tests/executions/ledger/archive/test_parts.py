from __future__ import annotations

import gzip
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import orjson
import pytest

from executions.ledger.archive import parts
from executions.ledger.archive.parts import Damaged
from tests.executions.ledger.archive.files import DAY, csv_of, execution, facts, files_in, write

ROWS = [execution(1), execution(2)]
PLAIN = [f"executions/{DAY}.csv.gz", f"executions/{DAY}.json"]


def test_a_part_is_a_compressed_file_and_its_manifest(tmp_path: Path):
    part = write(tmp_path, ROWS)

    assert files_in(tmp_path) == PLAIN
    raw = part.path(tmp_path).read_bytes()
    assert gzip.decompress(raw) == csv_of(ROWS)
    assert (part.rows, part.bytes) == (2, len(raw))
    assert part.sha256 == hashlib.sha256(raw).hexdigest()
    assert part.content_sha256 == hashlib.sha256(csv_of(ROWS)).hexdigest()
    assert parts.parts_of(tmp_path, "executions", DAY) == [part]
    parts.verify(tmp_path, part)


def test_only_the_owner_may_read_it(tmp_path: Path):
    part = write(tmp_path / "archive", ROWS)

    for path in (part.path(tmp_path / "archive"), part.manifest(tmp_path / "archive")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_day_without_rows_is_a_part_as_well(tmp_path: Path):
    part = write(tmp_path, [])

    assert part.rows == 0
    assert list(parts.contents(tmp_path, part)) == [csv_of([])]


def write_and_fail(root: Path) -> None:
    with parts.writing(root, "executions", DAY) as writer:
        writer.write(csv_of(ROWS))
        raise RuntimeError("killed")


def write_too_few(root: Path) -> None:
    with parts.writing(root, "executions", DAY) as writer:
        writer.write(csv_of(ROWS))
        writer.finish(3, facts())


def test_what_was_cut_off_counts_for_nothing_and_is_written_again(tmp_path: Path):
    with pytest.raises(RuntimeError):
        write_and_fail(tmp_path)
    assert files_in(tmp_path) == []

    # As a process leaves it that had no time to clean up, before and after the rename.
    folder = tmp_path / "executions"
    (folder / f".{DAY}.csv.gz.new").write_bytes(b"half")
    (folder / f"{DAY}.csv.gz").write_bytes(b"no manifest")
    assert parts.parts_of(tmp_path, "executions", DAY) == []

    write(tmp_path, ROWS)

    assert files_in(tmp_path) == PLAIN


def test_what_cannot_be_read_back_does_not_take_its_place(tmp_path: Path):
    with pytest.raises(Damaged, match="does not hold"):
        write_too_few(tmp_path)

    assert files_in(tmp_path) == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: Any):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "executions").mkdir()
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="No space"):
        write(tmp_path, ROWS)

    assert files_in(tmp_path) == []


def test_new_folders_are_on_the_disk_like_what_is_in_them(tmp_path: Path, monkeypatch: Any):
    synced: set[int] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    root = tmp_path / "new" / "archive"

    part = write(root, ROWS)

    folders = [tmp_path, root.parent, root, root / "executions"]
    for path in (*folders, part.path(root), part.manifest(root)):
        assert path.stat().st_ino in synced, path


def test_the_same_rows_are_not_written_twice(tmp_path: Path):
    first = write(tmp_path, ROWS)

    assert write(tmp_path, ROWS) == first
    assert write(tmp_path, ROWS, final=False) == first
    assert files_in(tmp_path) == PLAIN


def test_other_rows_of_the_day_are_another_part(tmp_path: Path):
    first = write(tmp_path, ROWS)
    second = write(tmp_path, [execution(3)])

    assert second.number == 2
    assert second.path(tmp_path).name == f"{DAY}.2.csv.gz"
    assert parts.parts_of(tmp_path, "executions", DAY) == [first, second]


def test_an_export_is_replaced_by_the_next_part(tmp_path: Path):
    write(tmp_path, ROWS[:1], final=False)
    write(tmp_path, ROWS, final=False)
    assert files_in(tmp_path) == PLAIN

    last = write(tmp_path, ROWS)

    assert files_in(tmp_path) == PLAIN
    assert parts.parts_of(tmp_path, "executions", DAY) == [last]
    assert last.facts.final


def test_an_export_beside_final_parts_goes_when_the_day_is_as_before(tmp_path: Path):
    first = write(tmp_path, ROWS)
    write(tmp_path, [execution(3)], final=False)
    assert len(files_in(tmp_path)) == 4

    assert write(tmp_path, ROWS) == first

    assert files_in(tmp_path) == PLAIN


def test_a_damaged_part_is_replaced_when_all_its_rows_are_there(tmp_path: Path):
    first = write(tmp_path, ROWS)
    first.path(tmp_path).write_bytes(b"damage")

    again = write(tmp_path, ROWS)

    parts.verify(tmp_path, again)
    assert files_in(tmp_path) == PLAIN


def test_a_file_that_has_changed_or_is_gone_is_damaged(tmp_path: Path):
    part = write(tmp_path, ROWS)
    path = part.path(tmp_path)
    raw = path.read_bytes()

    for changed in (raw[:-1], raw[:20] + bytes([raw[20] ^ 1]) + raw[21:], raw + b"\0", b""):
        path.write_bytes(changed)
        with pytest.raises(Damaged, match="has changed"):
            parts.verify(tmp_path, part)

    path.unlink()
    with pytest.raises(Damaged, match="is missing"):
        parts.verify(tmp_path, part)


def test_a_file_that_ends_early_is_not_unpacked_to_its_end_in_silence(tmp_path: Path):
    part = write(tmp_path, ROWS)
    path = part.path(tmp_path)
    path.write_bytes(path.read_bytes()[:-6])

    with pytest.raises(Damaged, match="cannot be unpacked"):
        list(parts.contents(tmp_path, part))


@pytest.mark.parametrize(
    "content",
    [b"", b"no json", b"[]", b"{}", b'{"format": 1}', b'{"format": 1, "table": "x", "more": 1}'],
)
def test_a_manifest_that_tells_nothing_is_damaged(tmp_path: Path, content: bytes):
    part = write(tmp_path, ROWS)
    part.manifest(tmp_path).write_bytes(content)

    with pytest.raises(Damaged, match="not the manifest"):
        parts.parts_of(tmp_path, "executions", DAY)


def test_the_manifest_of_another_part_is_damaged(tmp_path: Path):
    part = write(tmp_path, ROWS)
    part.manifest(tmp_path).rename(tmp_path / "executions" / "2026-01-06.json")

    with pytest.raises(Damaged, match="another part"):
        parts.parts_of(tmp_path, "executions", "2026-01-06")


def test_a_manifest_of_a_newer_version_is_refused_as_such(tmp_path: Path):
    manifest = write(tmp_path, ROWS).manifest(tmp_path)
    manifest.write_bytes(orjson.dumps({**orjson.loads(manifest.read_bytes()), "format": 2}))

    with pytest.raises(Damaged, match="newer version"):
        parts.read_manifest(manifest)


def test_manifests_come_by_day_table_and_number(tmp_path: Path):
    for name in ("events/2026-01-05", "executions/2026-01-05.10", "executions/2026-01-05.2",
                 "executions/2026-01-05", "executions/2026-01-04", "executions/notes"):  # fmt: skip
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.touch()

    found = [str(path.relative_to(tmp_path)) for path in parts.manifests(tmp_path)]

    assert found == [
        "executions/2026-01-04.json",
        "events/2026-01-05.json",
        "executions/2026-01-05.json",
        "executions/2026-01-05.2.json",
        "executions/2026-01-05.10.json",
    ]
    assert len(parts.manifests(tmp_path, "executions", "2026-01-05")) == 3


def test_a_directory_that_takes_nothing_is_known_beforehand(tmp_path: Path):
    (tmp_path / "file").touch()

    parts.check_writable(tmp_path / "new" / "archive")
    assert (tmp_path / "new" / "archive").is_dir()

    with pytest.raises(OSError, match="file"):
        parts.check_writable(tmp_path / "file")
