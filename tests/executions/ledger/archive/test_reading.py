from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from executions.ledger.archive.parts import Damaged
from executions.ledger.archive.reading import Chosen, read_day, verified_parts
from shared.exceptions import NotFound
from tests.executions.ledger.archive.files import DAY, execution, name_of, write

ATTEMPTS = {"id": "uuid", "execution_id": "uuid", "number": "smallint"}


def numbers(root: Path, **chosen: str) -> list[int]:
    found = read_day(root, "executions", DAY, Chosen(**chosen))
    return [int(row["id"].rpartition("-")[2], 16) for row in found]


def test_rows_come_back_in_the_order_of_their_ids(tmp_path: Path):
    write(tmp_path, [execution(1), execution(2, "FAILED")])

    assert list(read_day(tmp_path, "executions", DAY)) == [
        {"id": name_of(1), "task_id": name_of(1), "status": "SUCCEEDED"},
        {"id": name_of(2), "task_id": name_of(1), "status": "FAILED"},
    ]


def test_rows_of_several_parts_come_once_each_and_the_latest_counts(tmp_path: Path):
    write(tmp_path, [execution(1), execution(3), execution(5)])
    write(tmp_path, [execution(2), execution(3, "FAILED")])
    write(tmp_path, [execution(3, "CANCELLED"), execution(6)])

    rows = list(read_day(tmp_path, "executions", DAY))

    assert numbers(tmp_path) == [1, 2, 3, 5, 6]
    assert rows[2]["status"] == "CANCELLED"


def test_an_earlier_row_is_not_found_in_place_of_the_later_one(tmp_path: Path):
    write(tmp_path, [execution(1, task=1)])
    write(tmp_path, [execution(1, task=2)])

    assert numbers(tmp_path, task=name_of(1)) == []
    assert numbers(tmp_path, task=name_of(2)) == [1]


def test_a_task_or_an_execution_can_be_chosen(tmp_path: Path):
    write(tmp_path, [execution(10, task=7), execution(11, task=8), execution(12, task=7)])

    assert numbers(tmp_path, task=name_of(7)) == [10, 12]
    assert numbers(tmp_path, execution=name_of(11)) == [11]
    assert numbers(tmp_path, task=name_of(7), execution=name_of(11)) == []
    # The id of an execution is not taken for that of a task.
    assert numbers(tmp_path, task=name_of(11)) == []


def test_attempts_are_found_by_the_task_of_their_execution(tmp_path: Path):
    write(tmp_path, [execution(1, task=7), execution(2, task=8)])
    tries = [(name_of(20), name_of(1), "1"), (name_of(21), name_of(2), "1")]
    write(tmp_path, tries, table="attempts", columns=ATTEMPTS)

    (found,) = read_day(tmp_path, "attempts", DAY, Chosen(task=name_of(7)))

    assert found == {"id": name_of(20), "execution_id": name_of(1), "number": 1}
    assert not list(read_day(tmp_path, "attempts", DAY, Chosen(task=name_of(9))))
    both = Chosen(task=name_of(7), execution=name_of(2))
    assert not list(read_day(tmp_path, "attempts", DAY, both))


def test_a_day_that_is_not_there_is_told(tmp_path: Path):
    write(tmp_path, [execution(1)])

    for table, day in (("events", DAY), ("executions", "2026-01-06")):
        with pytest.raises(NotFound, match=day):
            list(read_day(tmp_path, table, day))


def test_nothing_of_a_damaged_day_is_given(tmp_path: Path):
    write(tmp_path, [execution(1)])
    part = write(tmp_path, [execution(2)])
    raw = part.path(tmp_path).read_bytes()
    part.path(tmp_path).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))

    with pytest.raises(Damaged, match="has changed"):
        next(read_day(tmp_path, "executions", DAY))


def test_a_heading_that_is_not_the_manifests_is_damage(tmp_path: Path):
    manifest = write(tmp_path, [execution(1)]).manifest(tmp_path)
    told = orjson.loads(manifest.read_bytes())
    told["facts"]["columns"] = {"id": "uuid", "status": "text", "task_id": "uuid"}
    manifest.write_bytes(orjson.dumps(told))

    with pytest.raises(Damaged, match="other columns"):
        list(read_day(tmp_path, "executions", DAY))


def test_a_file_without_ids_in_front_is_refused(tmp_path: Path):
    write(tmp_path, [("a", "b")], columns={"name": "text", "id": "text"})

    with pytest.raises(Damaged, match="begin with an id"):
        verified_parts(tmp_path, "executions", DAY)


def test_a_row_that_is_none_is_damage(tmp_path: Path):
    write(tmp_path, [(name_of(1), "no number")], columns={"id": "uuid", "number": "smallint"})

    with pytest.raises(Damaged, match="cannot be read"):
        list(read_day(tmp_path, "executions", DAY))
