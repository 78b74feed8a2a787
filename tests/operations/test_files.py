from __future__ import annotations

import io

import pytest

from operations import files
from shared.exceptions import InvalidInput, NotFound


def _stdin(monkeypatch, raw: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_json_comes_from_the_command_line_a_file_or_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "payload.json"
    path.write_text('{"n": 1}')
    _stdin(monkeypatch, b"[2]")

    assert files.json_value('"text"', "--payload") == "text"
    assert files.json_value(f"@{path}", "--payload") == {"n": 1}
    assert files.json_value("-", "--payload") == [2]
    assert files.read_json(str(path), "--file") == {"n": 1}


def test_bytes_that_are_no_text_stay_recognisable(tmp_path):
    path = tmp_path / "crontab"
    path.write_bytes(b"a\xffb")

    assert files.read_text(str(path)) == (str(path), "a\udcffb")


def test_what_cannot_be_read_is_said_with_its_name(tmp_path, monkeypatch):
    with pytest.raises(NotFound, match="no file"):
        files.read_text(str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match="cannot be read"):
        files.read_text(str(tmp_path))
    with pytest.raises(InvalidInput, match="not JSON"):
        files.json_value("{", "--payload")
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 3)
    _stdin(monkeypatch, b"[1, 2]")
    with pytest.raises(InvalidInput, match="larger than 3 bytes"):
        files.read_json("-", "--file")
