from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executions.housekeeping import stage as housekeeping
from executions.ledger import retention
from executions.ledger.days import DAILY_TABLES
from executions.models import Execution
from shared.commands import CONFLICT, FAILED, NOT_FOUND, WRONG_USE
from shared.conf import conf
from tests.executions.old_days import A_DAY, ago, days_of, forget, make_days, name_of, put
from tests.factories import make_tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def root(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Path]:
    root = tmp_path / "archive"
    settings.PUNCTUAL = replace(conf(), retention_days=10, archive_dir=str(root))
    forget()
    yield root
    forget()


@pytest.fixture
def day() -> str:
    return f"{ago(20):%Y-%m-%d}"


@pytest.fixture
def execution(root: Path) -> Execution:
    """Return an execution whose day has left into the archive."""
    made = put(make_tenant("Alpha"), 20)
    assert housekeeping.drop_old_days() == A_DAY
    return made


def damage(root: Path, day: str) -> None:
    path = root / "executions" / f"{day}.csv.gz"
    path.write_bytes(path.read_bytes()[:-1])


@recounts("archive.rows")
def test_the_archive_is_listed(execution: Execution, root: Path, day: str):
    said = call("archive", "list", "--json")

    document = read_document("archive-list", said.out)
    assert said.code == 0
    assert document["directory"] == str(root)
    assert [(one["table"], one["rows"], one["final"]) for one in document["parts"]] == [
        ("attempts", 1, True),
        ("events", 1, True),
        ("executions", 1, True),
        ("runs", 0, True),
        ("steps", 0, True),
    ]
    assert day in call("archive", "list").out
    assert "whole" in call("archive", "list", "--verify").out


def test_an_empty_archive_is_listed_as_well(root: Path):
    assert read_document("archive-list", call("archive", "list", "--json").out)["parts"] == []


def test_damage_ends_the_list_with_1(execution: Execution, root: Path, day: str):
    damage(root, day)

    said = call("archive", "list", "--verify", "--json")

    assert said.code == FAILED
    states = {
        one["table"]: one["state"] for one in read_document("archive-list", said.out)["parts"]
    }
    others = dict.fromkeys(DAILY_TABLES, "whole")
    assert states == {**others, "executions": "damaged"}
    assert "has changed" in said.err


def test_rows_are_read_one_per_line(execution: Execution, day: str):
    said = call("archive", "read", "--day", day)

    (line,) = said.out.splitlines()
    assert json.loads(line)["id"] == str(execution.id)
    assert "1 rows" in said.err
    assert call("archive", "read", "--day", day, "--jsonl").out == said.out
    read_document("archive-read-line", line)


def test_rows_are_read_as_one_document(execution: Execution, day: str):
    words = ["--day", day, "--table", "attempts", "--execution", str(execution.id), "--json"]

    document = read_document("archive-read", call("archive", "read", *words).out)

    assert (document["table"], document["total"]) == ("attempts", 1)
    assert document["rows"][0]["execution_id"] == str(execution.id)
    other = ["--day", day, "--task", str(execution.id), "--json"]
    assert read_document("archive-read", call("archive", "read", *other).out)["rows"] == []


def test_another_directory_can_be_read(execution: Execution, root: Path, day: str, tmp_path: Path):
    root.rename(tmp_path / "moved")

    assert call("archive", "read", "--day", day).code == NOT_FOUND
    assert call("archive", "read", "--day", day, "--dir", str(tmp_path / "moved")).code == 0


def test_a_damaged_file_is_not_read(execution: Execution, root: Path, day: str):
    damage(root, day)

    said = call("archive", "read", "--day", day)

    assert (said.code, said.out) == (CONFLICT, "")
    assert "has changed" in said.err


def test_a_day_is_exported(root: Path, day: str):
    put(make_tenant("Alpha"), 20, "PENDING", held=True)

    said = call("archive", "export", "--day", day, "--json")

    document = read_document("archive-export", said.out)
    assert (document["day"], document["unfinished"]) == (day, 1)
    assert [part["rows"] for part in document["parts"]] == [0] * A_DAY
    assert "unfinished" in said.err
    assert f"{day}.csv.gz" in call("archive", "export", "--day", day).out


def test_an_archive_that_cannot_be_written_is_told(root: Path, day: str):
    make_days(20)
    root.write_bytes(b"a file")

    said = call("archive", "export", "--day", day)

    assert said.code == FAILED
    assert str(root) in said.err


def test_a_day_is_restored(execution: Execution, day: str):
    said = call("archive", "restore", "--day", day, "--keep-days", "3", "--json")

    document = read_document("archive-restore", said.out)
    assert document["rows"] == {
        "executions": 1,
        "attempts": 1,
        "events": 1,
        "runs": 0,
        "steps": 0,
    }
    assert document["kept_until"] == f"{ago(-3):%Y-%m-%d}"
    assert Execution.objects.get(id=execution.id).status == "SUCCEEDED"
    assert document["kept_until"] in said.err
    assert call("archive", "restore", "--day", day).code == CONFLICT


def test_people_read_what_came_back(execution: Execution, day: str):
    said = call("archive", "restore", "--day", day)

    assert "executions  1 rows" in said.out
    assert name_of(20) in days_of()


@pytest.mark.parametrize(
    "words",
    [
        "read --day yesterday",
        "read --day 2026-01-31 --task 0a",
        "restore --day 2026-01-31 --keep-days 0",
        "restore --day 2026-01-31 --keep-days 4000",
    ],
)
def test_wrong_words_are_refused(words: str):
    assert call("archive", *words.split()).code == WRONG_USE


def test_a_day_that_is_nowhere_is_not_found():
    for verb in ("read", "restore", "export"):
        assert call("archive", verb, "--day", "2020-01-01").code == NOT_FOUND


def test_without_an_archive_the_command_says_which_setting_it_needs(settings: Any):
    settings.PUNCTUAL = replace(conf(), archive_dir="")

    said = call("archive", "list")

    assert said.code == WRONG_USE
    assert "ARCHIVE_DIR" in said.err


def test_whoever_archives_keeps_others_out(day: str):
    make_days(20)

    with retention.turn():
        assert call("archive", "export", "--day", day).code == CONFLICT
