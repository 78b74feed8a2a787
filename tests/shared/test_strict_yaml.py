from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.exceptions import FieldError, InvalidInput
from shared.strict_yaml import read_yaml, write_yaml


def refusal(text: str | bytes) -> FieldError:
    with pytest.raises(InvalidInput) as refused:
        read_yaml(text)
    return refused.value.errors[0]


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
    found = read_yaml(text)

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: \x01", "special characters are not allowed"),
        ("a: " + "9" * 5000, "a number is too long at line 1, column 4."),
        ("a: " + "[" * 20_000 + "]" * 20_000, "nested deeper than 64 levels"),
        ("a: &x 1\nb: *x\n", "aliases are not read; write the value again at line 2, column 4."),
        ("a: 1\na: 2\n", "the name 'a' is here twice at line 2, column 1."),
        ("1: a\n", "a name must be a text; write it in quotes at line 1, column 1."),
        ("? [a]\n: b\n", "a name must be a text; write it in quotes at line 1, column 3."),
        ("a: !!python/name:os.system x\n", "has no value in JSON at line 1, column 4."),
        ("a: !!timestamp 2026-11-29\n", "has no value in JSON"),
        ("a: [1\n", "This is not YAML: "),
        ("a: {url: https://x/y?z=1}\n", "column 21. Write a text with a question mark in quotes."),
        ("a: 1\n---\nb: 2\n", "but found another document at line 2, column 1."),
        ("[" * 100 + "]" * 100, "nested deeper than 64 levels"),
        (b"a: \xff\n", "This is not UTF-8 text: bad byte at offset 3."),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_place(text, said):
    found = refusal(text)

    assert (found.pointer, found.code) == ("#", "yaml_invalid")
    assert said in found.message


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ('steps: ["\\0"]\n', "#/steps/0", "text_invalid"),
        ("n: 99999999999999999999999\n", "#/n", "number_out_of_range"),
        ("n: 1e999\n", "#/n", "number_out_of_range"),
    ],
)
def test_a_value_that_cannot_be_carried_has_the_code_that_it_has_in_json(text, pointer, code):
    found = refusal(text)

    assert (found.pointer, found.code) == (pointer, code)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@example("1e3")
@example("no")
@example("0x10")
@example("1_000")
@example("~")
@example(" two\n  lines\r\n")
def test_a_text_that_was_written_is_read_as_itself(text):
    assert read_yaml(write_yaml({"a": text, text: [text]})) == {"a": text, text: [text]}


def test_many_aliases_of_aliases_cost_nothing():
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    assert "aliases are not read" in refusal("\n".join(lines)).message
