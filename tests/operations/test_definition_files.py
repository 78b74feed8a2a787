from __future__ import annotations

import io

import pytest

from operations import definition_files
from operations.definition_files import parse_yaml, read_definition
from shared.exceptions import InvalidInput, NotFound


def refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse_yaml(text.encode() if isinstance(text, str) else text, "--file")
    return refused.value.errors[0].message


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("16:00", "16:00"),
        ("2026-11-29", "2026-11-29"),
        ("0x1f", "0x1f"),
        ("017", 17),
        ("1_000", "1_000"),
        ("true", True),
        ("~", None),
        ("", None),
        ("-7", -7),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        (".inf", ".inf"),
        ("<<: 1", {"<<": 1}),
        ("'7'", "7"),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_a_plain_word_has_the_value_of_the_core_schema(text, value):
    found = parse_yaml(text.encode(), "--file")

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x 1\nb: *x\n", "aliases are not read; write the value again at line 2, column 4."),
        ("a: 1\na: 2\n", "the name 'a' stands here twice at line 2, column 1."),
        ("1: a\n", "a name must be a text; write it in quotes at line 1, column 1."),
        ("? [a]\n: b\n", "a name must be a text; write it in quotes at line 1, column 3."),
        ("a: !!python/name:os.system x\n", "has no value in JSON at line 1, column 4."),
        ("a: !!timestamp 2026-11-29\n", "has no value in JSON"),
        ("a: [1\n", "This is not YAML: "),
        ("a: 1\n---\nb: 2\n", "but found another document at line 2, column 1."),
        ("[" * 100 + "]" * 100, "nested deeper than 64 levels"),
        (b"a: \xff\n", "This is not UTF-8 text: bad byte at offset 3."),
        ('steps: ["\\0"]\n', "steps.0: Must not contain NUL"),
        ("n: 99999999999999999999999\n", "n: Whole numbers must fit into 64 bits."),
        ("n: 1e999\n", "n: Must be a finite number"),
    ],
)
def test_what_is_no_json_value_is_refused_with_its_place(text, said):
    found = refusal(text)

    assert found.startswith("--file: ")
    assert said in found


def test_many_aliases_of_aliases_cost_nothing():
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    assert "aliases are not read" in refusal("\n".join(lines))


def test_a_file_that_is_absent_or_too_large_is_named(tmp_path, monkeypatch):
    path = tmp_path / "flow.yaml"
    path.write_text("name: Flow")
    monkeypatch.setattr(definition_files, "MAX_BYTES", 3)

    with pytest.raises(InvalidInput, match="larger than 3 bytes"):
        read_definition(str(path))
    with pytest.raises(NotFound, match="no file"):
        read_definition(str(tmp_path / "nowhere.yaml"))
