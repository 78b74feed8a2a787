from __future__ import annotations

from pathlib import Path

from bench.chaos.broker import _take_place


def test_former_data_takes_the_place_of_the_present(tmp_path: Path):
    former, current = tmp_path / "former", tmp_path / "current"
    for directory, text in ((former, "old"), (current, "new")):
        directory.mkdir()
        (directory / "file").write_text(text)

    _take_place(former, current)

    assert (current / "file").read_text() == "old"
    assert not former.exists()
