from __future__ import annotations

import io

import pytest

from operations import definition_files
from operations.definition_files import read_definition
from shared.exceptions import InvalidInput, NotFound


def test_yaml_and_json_say_the_same(tmp_path):
    yaml, json = tmp_path / "flow.yaml", tmp_path / "flow.json"
    yaml.write_text("name: Flow # by night\nsteps:\n  - key: a\n    depends_on: []\n")
    json.write_text('{"name": "Flow", "steps": [{"key": "a", "depends_on": []}]}')

    assert read_definition(str(yaml)) == read_definition(str(json))


@pytest.mark.parametrize("raw", [b'{"on": 1}', b"\n  on: 1\n"])
def test_standard_input_is_json_where_it_begins_with_a_bracket(monkeypatch, raw):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))

    assert read_definition("-") == {"on": 1}


def test_json_is_read_strictly_and_the_name_of_a_file_decides_for_yaml(tmp_path):
    json, yaml = tmp_path / "flow.json", tmp_path / "flow.yml"
    json.write_text('{"a": 1, "a": 2}')
    yaml.write_text("{a: 1}")

    with pytest.raises(InvalidInput, match="--file: "):
        read_definition(str(json))
    assert read_definition(str(yaml)) == {"a": 1}


def test_a_file_that_is_absent_or_too_large_is_named(tmp_path, monkeypatch):
    path = tmp_path / "flow.yaml"
    path.write_text("name: Flow")
    monkeypatch.setattr(definition_files, "MAX_BYTES", 3)

    with pytest.raises(InvalidInput, match="larger than 3 bytes"):
        read_definition(str(path))
    with pytest.raises(NotFound, match="no file"):
        read_definition(str(tmp_path / "nowhere.yaml"))


def test_what_is_wrong_with_yaml_names_the_option(tmp_path):
    path = tmp_path / "flow.yaml"
    path.write_text("a: [1")

    with pytest.raises(InvalidInput, match="--file: This is not YAML: "):
        read_definition(str(path))
