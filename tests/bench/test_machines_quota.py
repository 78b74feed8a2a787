from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import machines_quota
from bench.machines_quota import ROOTS, Quota, quota

V1 = {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000", "cgroup.procs": ""}
V2 = {"cpu.max": "max 100000", "cgroup.procs": ""}


def group(directory: Path, files: dict[str, str]) -> Quota:
    for name, text in files.items():
        (directory / name).write_text(text, encoding="ascii")
    return Quota(directory)


def test_a_quarter_of_a_core_is_a_quarter_of_each_period_by_the_first_version(tmp_path: Path):
    found = group(tmp_path, V1)

    found.limit(0.25)

    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "2500"
    assert (tmp_path / "cpu.cfs_period_us").read_text() == "10000"
    found.free()
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "-1"


def test_a_quarter_of_a_core_is_a_quarter_of_each_period_by_the_second_version(tmp_path: Path):
    found = group(tmp_path, V2)

    found.limit(0.25)

    assert (tmp_path / "cpu.max").read_text() == "2500 10000"
    found.free()
    assert (tmp_path / "cpu.max").read_text() == "max"


def test_processes_that_are_taken_in_are_written_one_by_one(tmp_path: Path):
    found = group(tmp_path, V2)

    found.take([11, 12])

    assert (tmp_path / "cgroup.procs").read_text() == "12"


def test_where_no_group_can_be_made_there_is_none_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # The first is missing, in the second a directory is no group.
    monkeypatch.setattr(machines_quota, "ROOTS", (tmp_path / "absent", tmp_path))

    with quota("test") as found:
        assert found is None

    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def ours() -> Iterator[str]:
    """Return a name for a real group; skip where this machine lets us make none."""
    name = f"test-{os.getpid()}"
    with quota(name) as found:
        if found is None:
            pytest.skip("no control groups can be made here")
    yield name
    assert not [root for root in ROOTS if (root / f"pnct-{name}").exists()]


def test_a_real_group_holds_a_process_and_is_removed_after_its_end(ours: str):
    with quota(ours) as found:
        assert found is not None
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        try:
            found.take([process.pid])
            found.limit(0.5)
            groups = Path(f"/proc/{process.pid}/cgroup").read_text(encoding="ascii")
            assert f"pnct-{ours}" in groups
        finally:
            process.kill()
            process.communicate()
