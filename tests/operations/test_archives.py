from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from executions.ledger.archive.reading import Chosen
from operations import archives
from shared.conf import conf
from shared.exceptions import InvalidInput
from tests.executions.ledger.archive.files import DAY, execution, write

ID = "019b8a00-0000-8000-8000-00000000000a"


def test_the_option_goes_before_the_setting(settings: Any):
    settings.PUNCTUAL = replace(conf(), archive_dir="/srv/archive")

    assert archives.root_of({"dir": None}) == Path("/srv/archive")
    assert archives.root_of({"dir": "/mnt/old"}) == Path("/mnt/old")


def test_without_an_archive_one_has_to_be_named():
    with pytest.raises(InvalidInput, match="ARCHIVE_DIR"):
        archives.root_of({"dir": None})


@pytest.mark.parametrize("text", ["20260131", "2026-1-31", "2026-02-30", "2026-W05-1", "", "today"])
def test_a_day_is_written_in_one_way(text: str):
    with pytest.raises(InvalidInput, match="2026-01-31"):
        archives.day_option(text)


def test_a_day_is_read():
    assert archives.day_option("2026-01-31") == date(2026, 1, 31)


def test_ids_are_read_as_the_server_writes_them():
    found = archives.chosen({"task": ID.upper(), "execution": None})

    assert found == Chosen(task=ID)
    with pytest.raises(InvalidInput, match="all of it") as refused:
        archives.chosen({"task": None, "execution": "0a"})
    assert refused.value.errors[0].pointer == "--execution"


def test_damage_is_listed_beside_what_is_whole(tmp_path: Path):
    write(tmp_path, [execution(1)])
    changed = write(tmp_path, [execution(2), execution(3)])
    raw = changed.path(tmp_path).read_bytes()
    changed.path(tmp_path).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    write(tmp_path, [execution(4)], table="events").manifest(tmp_path).write_bytes(b"{}")

    listed = archives.found_in(tmp_path, read_all=False)
    verified = archives.found_in(tmp_path, read_all=True)

    assert [one["state"] for one in listed] == ["damaged", "not read", "not read"]
    assert [one["state"] for one in verified] == ["damaged", "whole", "damaged"]
    assert (listed[0]["table"], listed[0]["day"], listed[0]["rows"]) == ("events", DAY, None)
    assert "has changed" in verified[2]["problem"]
    assert "2026-01-05" in archives.list_lines(verified)[1]


def test_a_file_of_another_size_is_found_without_reading_it(tmp_path: Path):
    part = write(tmp_path, [execution(1)])
    part.path(tmp_path).unlink()

    (one,) = archives.found_in(tmp_path, read_all=False)

    assert (one["state"], "missing" in one["problem"]) == ("damaged", True)


def test_a_part_that_was_written_is_told_with_its_place(tmp_path: Path):
    part = write(tmp_path, [execution(1)])

    (line,) = archives.parts_lines([part], tmp_path)

    assert line.startswith(str(part.path(tmp_path)))
    assert "1 rows" in line
