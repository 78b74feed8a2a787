"""Values of a definition as texts of fields, and back."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dashboard.workflow_list.values import ABSENT, Unreadable, read, show

WIDGETS = (
    *("text", "choice", "area", "number", "truth", "json"),
    *("headers", "pairs", "words", "numbers", "lines"),
)


@pytest.mark.parametrize(
    ("widget", "value", "text"),
    [
        ("text", "a b", "a b"),
        ("text", 7, "7"),
        ("number", 30, "30"),
        ("number", 0.5, "0.5"),
        ("number", "soon", "soon"),
        ("truth", True, "yes"),
        ("json", {"a": 1}, '{\n  "a": 1\n}'),
        ("json", "{{ item }}", "{{ item }}"),
        ("json", "7", '"7"'),
        ("json", None, ""),
        ("headers", {"X-A": "b: c"}, "X-A: b: c"),
        ("headers", {"X-A": 1}, '{\n  "X-A": 1\n}'),
        ("pairs", {"A": "x=y"}, "A=x=y"),
        ("words", ["5xx", "429"], "5xx, 429"),
        ("words", ["two words"], '[\n  "two words"\n]'),
        ("numbers", [0, 2.5], "0, 2.5"),
        ("lines", ["--all", "a b"], "--all\na b"),
        ("lines", ["", "two\nlines"], '[\n  "",\n  "two\\nlines"\n]'),
    ],
)
def test_a_value_is_shown_as_people_write_it(widget, value, text):
    assert show(widget, value) == text


@pytest.mark.parametrize(
    ("widget", "text", "value"),
    [
        ("text", "  ", ABSENT),
        ("number", " 12 ", 12),
        ("number", "1e3", 1000.0),
        ("number", "1e400", "1e400"),
        ("number", "99999999999999999999", "99999999999999999999"),
        ("number", "1_000", "1_000"),
        ("number", "nan", "nan"),
        ("json", "a: [1, no]", {"a": [1, "no"]}),
        ("json", "{{ input }}", "{{ input }}"),
        ("json", "word", "word"),
        ("headers", "X-A: b\r\n\r\nX-C: d", {"X-A": "b", "X-C": "d"}),
        ("words", "5xx 429,timeout", ["5xx", "429", "timeout"]),
        ("numbers", "0, x", [0, "x"]),
        ("lines", "a\r\n b", ["a", " b"]),
    ],
)
def test_a_text_is_read_as_its_value(widget, text, value):
    found = read(widget, text)

    assert found is value if value is ABSENT else (found == value and type(found) is type(value))


@pytest.mark.parametrize(
    ("widget", "text", "words"),
    [
        ("json", '{"a": ', "not JSON"),
        ("json", "a: [", "not YAML"),
        ("json", "&a [*a]", "aliases"),
        ("headers", "no colon", "Line 1"),
        ("pairs", "a=1\na=2", "twice"),
        ("json", "[" * 61 + "]" * 61, "nested"),
        ("json", "a: " + "[" * 60 + "]" * 60, "nested"),
        ("text", "a\0b", "NUL"),
        ("json", '"a\\u0000"', "NUL"),
    ],
)
def test_a_text_without_a_value_says_why(widget, text, words):
    with pytest.raises(Unreadable, match=words):
        read(widget, text)


JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**63), 2**63)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.text("abc: =,\n", max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(widget=some.sampled_from(WIDGETS), value=JSON)
def test_any_value_can_be_shown_in_any_field(widget, value):
    assert isinstance(show(widget, value), str)


@given(widget=some.sampled_from(WIDGETS), text=some.text(max_size=40))
def test_any_text_is_read_or_refused(widget, text):
    with suppress(Unreadable):
        read(widget, text)
