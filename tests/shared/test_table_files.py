"""CSV and JSON lines of rows."""

from __future__ import annotations

import csv
import io

import orjson
import pytest

from shared.table_files import csv_lines, json_lines, lines_as


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_a_text_that_a_spreadsheet_would_compute_is_kept_from_it(text):
    [_, [cell]] = list(csv.reader(io.StringIO("".join(csv_lines(["a"], [{"a": text}])), "")))

    assert cell == f"'{text}"


def test_numbers_stay_numbers_and_objects_become_json():
    row = {"a": -1.5, "b": None, "c": {"x": [1]}, "d": 'q",\n', "left_out": 1}

    [heading, cells] = csv.reader(io.StringIO("".join(csv_lines(["a", "b", "c", "d"], [row])), ""))

    assert heading == ["a", "b", "c", "d"]
    assert cells == ["-1.5", "", '{"x":[1]}', 'q",\n']


def test_a_json_line_has_the_columns_alone_and_texts_as_they_are():
    [line] = json_lines(["a"], [{"a": "=1", "b": 2}])

    assert line.endswith("\n")
    assert orjson.loads(line) == {"a": "=1"}
    assert list(lines_as("jsonl", ["a"], [{"a": "=1"}])) == [line]


def test_lines_are_made_one_at_a_time():
    def rows():
        yield {"a": 1}
        raise AssertionError("the second row was asked for")

    lines = lines_as("csv", ["a"], rows())

    assert [next(lines), next(lines)] == ["a\r\n", "1\r\n"]
